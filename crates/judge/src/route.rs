//! Routes a published topic to its stage.

use saihai_model::{StageId, Topic, Topics};

/// Returns the stage of a topic, and false if the topic only reached the fallback.
pub fn route<'a>(topics: &'a Topics, topic: &Topic) -> (&'a StageId, bool) {
    match topics.routes.iter().find(|route| matches(&route.pattern, topic.as_str())) {
        Some(route) => (&route.to, !route.orphans),
        None => (&topics.otherwise, false),
    }
}

pub fn takes(pattern: &str, topic: &Topic) -> bool {
    matches(pattern, topic.as_str())
}

/// A lone `*` matches every topic; elsewhere a `*` matches exactly one whole segment.
pub(crate) fn matches(pattern: &str, topic: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let (mut wanted, mut given) = (pattern.split('.'), topic.split('.'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(want), Some(got)) if want == "*" || want == got => {}
            (Some(_) | None, Some(_)) | (Some(_), None) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::Route;

    use super::*;

    #[test]
    fn a_star_is_one_segment_and_order_decides() {
        // H-26, H-27
        let routes = [("build.done", "exact"), ("build.*", "glob"), ("*", "any")];
        let routes = routes.iter().map(|(pattern, to)| Route {
            pattern: (*pattern).to_owned(),
            to: (*to).into(),
            orphans: false,
        });
        let topics = Topics {
            start: "task.start".into(),
            routes: routes.collect(),
            otherwise: "base".into(),
            expected: false,
        };
        let to = |topic: &str| route(&topics, &topic.into()).0.as_str().to_owned();
        assert_eq!(to("build.done"), "exact");
        assert_eq!(to("build.failed"), "glob");
        assert_eq!(to("build"), "any");
        assert_eq!(to("build.x.y"), "any");
        assert_eq!(to("Build.done"), "any");
    }

    #[test]
    fn an_unmatched_topic_goes_to_the_fall_back() {
        // H-29
        let topics = Topics {
            start: "task.start".into(),
            routes: Vec::new(),
            otherwise: "base".into(),
            expected: false,
        };
        assert_eq!(route(&topics, &"x".into()), (&"base".into(), false));
        let gate = Route { pattern: "x".to_owned(), to: "gate".into(), orphans: true };
        let topics = Topics { routes: vec![gate], ..topics };
        assert_eq!(route(&topics, &"x".into()), (&"gate".into(), false), "a gate on the way takes nothing");
    }
}
