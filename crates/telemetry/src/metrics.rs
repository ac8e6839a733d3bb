//! The metrics of a run: totals of its view at the time of its last record.
//!
//! Each run is an instance of the service. Its totals are counted from its start, so a second export sends the same
//! points, and a resumed run continues them.

use std::collections::BTreeMap;

use saihai_model::{Millis, Usage};
use saihai_view::{AttemptResult, asked_of};

use crate::TelemetryRun;
use crate::otlp::{
    AttributeList, OtlpAttribute, OtlpMetric, OtlpMetricData, OtlpMetrics, OtlpNumber, OtlpPoint,
    OtlpResource, OtlpValue,
};
use crate::spans::provider_name;

/// Tokens by provider, model and type.
type TokenTotals = BTreeMap<(String, Option<String>, &'static str), u64>;

impl TelemetryRun<'_> {
    pub fn metrics(&self, resource: &OtlpResource) -> OtlpMetrics {
        let mut resource = resource.clone();
        resource.attributes.push(attribute("service.instance.id", self.id));
        let (view, state) = (self.view, self.state);
        let outcome =
            || self.common().with("saihai.outcome", state.name()).with_known("saihai.reason", self.parked());
        let mut metrics = vec![
            OtlpMetric {
                name: "saihai.runs",
                description: "Runs by outcome",
                unit: "{run}",
                data: OtlpMetricData::sum(vec![self.point(outcome(), 1)]),
            },
            OtlpMetric {
                name: "saihai.run.duration",
                description: "Active time of the run",
                unit: "s",
                data: gauge(self.point(outcome(), view.driven)),
            },
            OtlpMetric {
                name: "saihai.turns",
                description: "Replies of agents",
                unit: "{turn}",
                data: OtlpMetricData::sum(vec![self.point(self.common(), view.turns)]),
            },
        ];
        let tokens = self.token_totals();
        if !tokens.is_empty() {
            let points = tokens.into_iter().map(|((provider, model, kind), tokens)| {
                let attributes = self
                    .common()
                    .with("gen_ai.provider.name", provider)
                    .with_known("gen_ai.request.model", model)
                    .with("gen_ai.token.type", kind);
                self.point(attributes, tokens)
            });
            metrics.push(OtlpMetric {
                name: "saihai.tokens",
                description: "Tokens by type; the input contains the tokens of caches",
                unit: "{token}",
                data: OtlpMetricData::sum(points.collect()),
            });
        }
        if let Some(cost) = view.cost {
            metrics.push(OtlpMetric {
                name: "saihai.cost",
                description: "Reported cost",
                unit: "USD",
                data: OtlpMetricData::sum(vec![
                    self.point(self.common(), OtlpNumber::Double(cost.dollars())),
                ]),
            });
        }
        let used = self.budget_used();
        if !used.is_empty() {
            metrics.push(OtlpMetric {
                name: "saihai.budget.used",
                description: "Used part of the budget, by key",
                unit: "1",
                data: OtlpMetricData::Gauge { data_points: used },
            });
        }
        OtlpMetrics::new(resource, metrics)
    }

    fn common(&self) -> AttributeList {
        let start = &self.view.start;
        let attributes = AttributeList::default().with("saihai.definition", start.definition.as_str());
        if start.rehearsal { attributes.with("saihai.rehearsal", true) } else { attributes }
    }

    /// Returns the reason of a waiting run. Metrics omit the reasons of ends, because there can be many.
    fn parked(&self) -> Option<&str> {
        if self.state.is_over() { None } else { self.state.reason() }
    }

    fn point(&self, attributes: AttributeList, value: impl Into<OtlpNumber>) -> OtlpPoint {
        OtlpPoint {
            attributes: attributes.0,
            start_time_unix_nano: self.view.started.into(),
            time_unix_nano: self.view.last_at.max(self.view.started).into(),
            value: value.into(),
        }
    }

    fn token_totals(&self) -> TokenTotals {
        let mut totals = TokenTotals::new();
        for call in &self.view.calls {
            for attempt in &call.attempts {
                let (at, usage) = match &attempt.result {
                    AttemptResult::Open => continue,
                    AttemptResult::Replied { at, reply, .. } => (*at, &reply.usage),
                    AttemptResult::Failed { at, failed, .. } => (*at, &failed.usage),
                };
                // The original of a fork has paid for the records before.
                if at < self.view.started {
                    continue;
                }
                let asked = asked_of(self.workflow, call, &attempt.result);
                let provider = asked.map_or("unknown", |(_, provider, _)| provider_name(provider));
                let model = asked.and_then(|(.., model)| model);
                let Usage { input, output, cached, reasoning, .. } = usage;
                for (kind, tokens) in
                    [("input", input), ("output", output), ("cache_read", cached), ("reasoning", reasoning)]
                {
                    let Some(tokens) = tokens else { continue };
                    let key = (provider.to_owned(), model.map(str::to_owned), kind);
                    let total = totals.entry(key).or_default();
                    *total = total.saturating_add(*tokens);
                }
            }
        }
        totals
    }

    fn budget_used(&self) -> Vec<OtlpPoint> {
        let Some(spending) = self.view.spending(self.workflow) else { return Vec::new() };
        let (budget, spent) = (&spending.budget, &spending.spent);
        let keys = [
            ("usd", spent.usd.0, budget.usd.map(|usd| usd.0)),
            ("tokens", spent.tokens, budget.tokens),
            ("turns", spent.turns, budget.turns),
            ("time", spending.driven.0, budget.time.map(|Millis(time)| time)),
        ];
        let limited = keys.into_iter().filter_map(|(key, used, most)| Some((key, used, most?)));
        let point = |(key, used, most): (&str, u64, u64)| {
            #[expect(clippy::cast_precision_loss, reason = "a ratio needs no more")]
            let ratio = if most == 0 { 1.0 } else { used as f64 / most as f64 };
            self.point(self.common().with("saihai.budget.key", key), OtlpNumber::Double(ratio))
        };
        limited.map(point).collect()
    }
}

fn gauge(point: OtlpPoint) -> OtlpMetricData {
    OtlpMetricData::Gauge { data_points: vec![point] }
}

fn attribute(key: &str, value: &str) -> OtlpAttribute {
    OtlpAttribute { key: key.to_owned(), value: OtlpValue::from(value) }
}
