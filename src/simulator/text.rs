//! JSON as the providers write it: the order of fields, indentation, line ends.
//!
//! Recorded single Compute answers are indented by two spaces with CRLF line ends, but for the network
//! parts, which Compute embeds as it got them; lists that ARM merged and all of Network's are compact.

use serde_json::Value;

const EMBEDDED: [&str; 2] = ["networkProfile", "networkProfileConfiguration"];

/// Compact text with the top-level fields in `order`, the others after them.
pub(crate) fn compact(value: &Value, order: &[&str]) -> String {
    let mut text = String::new();
    write(&mut text, value, order, None);
    text
}

/// Indented text whose first line stands at `depth`.
pub(crate) fn indented(value: &Value, order: &[&str], depth: usize) -> String {
    let mut text = String::new();
    write(&mut text, value, order, Some(depth));
    text
}

fn write(text: &mut String, value: &Value, order: &[&str], depth: Option<usize>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let first = order.iter().filter_map(|name| map.get_key_value(*name));
            let rest = map.iter().filter(|(name, _)| !order.contains(&name.as_str()));
            text.push('{');
            for (at, (name, value)) in first.chain(rest).enumerate() {
                separate(text, at, depth);
                text.push_str(&Value::String(name.clone()).to_string());
                text.push_str(if depth.is_some() { ": " } else { ":" });
                let inner = depth.filter(|_| !EMBEDDED.contains(&name.as_str())).map(|depth| depth + 1);
                write(text, value, NAMES_FIRST, inner);
            }
            close(text, '}', depth);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(text, at, depth);
                write(text, item, NAMES_FIRST, depth.map(|depth| depth + 1));
            }
            close(text, ']', depth);
        }
        other => text.push_str(&other.to_string()),
    }
}

const NAMES_FIRST: &[&str] = &["name", "id", "code", "message", "etag"];

fn separate(text: &mut String, at: usize, depth: Option<usize>) {
    if at > 0 {
        text.push(',');
    }
    line(text, depth.map(|depth| depth + 1));
}

fn close(text: &mut String, end: char, depth: Option<usize>) {
    line(text, depth);
    text.push(end);
}

fn line(text: &mut String, depth: Option<usize>) {
    if let Some(depth) = depth {
        text.push_str("\r\n");
        text.extend(std::iter::repeat_n("  ", depth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn orders_and_indents() {
        let value = json!({"b": [1, {}], "name": "x", "networkProfile": {"c": {"d": []}}});
        assert_eq!(compact(&value, &["name"]), r#"{"name":"x","b":[1,{}],"networkProfile":{"c":{"d":[]}}}"#);
        let lines = indented(&value, &["name"], 1).replace("\r\n", "\n");
        let expected = "{\n    \"name\": \"x\",\n    \"b\": [\n      1,\n      {}\n    ],\n    \"networkProfile\": {\"c\":{\"d\":[]}}\n  }";
        assert_eq!(lines, expected);
    }
}
