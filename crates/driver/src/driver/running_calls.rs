//! Asks and actions under way.

use std::collections::HashMap;
use std::time::Duration;

use saihai_connect::Asking;
use saihai_model::{CallId, Moment, Outcome, Price, Progress, ProviderAnswer, ProviderName, RoundPosition};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The asks and actions under way. Each is a task that owns everything it needs.
#[derive(Debug)]
pub(super) struct RunningCalls {
    tasks: JoinSet<TaskResult>,
    known: HashMap<Id, RunningCall>,
    /// The channel for the progress of running turns.
    tell: mpsc::Sender<CallProgress>,
    heard: mpsc::Receiver<CallProgress>,
}

/// The data needed when an ask comes back.
#[derive(Debug)]
pub(crate) struct AskContext {
    pub(super) call: CallId,
    pub(super) place: RoundPosition,
    /// The prompt. A reply that only repeats it counts as empty.
    pub(super) prompt: String,
    pub(super) began: Moment,
    pub(super) provider: ProviderName,
    pub(super) session: Option<String>,
    /// The price to use if the provider reports no cost.
    pub(super) price: Price,
    /// True if the cost counts towards a budget.
    pub(super) is_counted: bool,
}

#[derive(Debug)]
enum CallKind {
    Ask(Box<AskContext>),
    Action(CallId),
}

impl CallKind {
    fn call(&self) -> &CallId {
        match self {
            Self::Ask(about) => &about.call,
            Self::Action(call) => call,
        }
    }
}

#[derive(Debug)]
struct RunningCall {
    what: CallKind,
    stop: CancellationToken,
    abort: AbortHandle,
    /// The time at which a stopped call is abandoned.
    until: Option<Instant>,
}

/// A call that has come back.
#[derive(Debug)]
pub(super) enum EndedCall {
    Ask { about: Box<AskContext>, came: TaskResult },
    Action { call: CallId, came: TaskResult },
}

/// The result of a call.
#[derive(Debug)]
pub(crate) enum TaskResult {
    Answer(Box<ProviderAnswer>),
    /// An action succeeded or failed.
    Outcome(Box<Outcome>),
    /// The task panicked with this message.
    Panicked(String),
    /// The task did not stop in time.
    Abandoned,
}

/// The next event of the calls under way.
#[derive(Debug)]
pub(super) enum CallEvent {
    Ended(Box<EndedCall>),
    Progress(CallId, Progress),
}

type CallProgress = (CallId, Progress);

/// Capacity of the progress channel. When full it drops progress: observers must not slow down an agent.
const PROGRESS: usize = 256;

impl RunningCalls {
    pub(super) fn new() -> Self {
        let (tell, heard) = mpsc::channel(PROGRESS);
        Self { tasks: JoinSet::new(), known: HashMap::new(), tell, heard }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub(super) fn ask(&mut self, asking: Asking, about: AskContext) {
        let (told, whose) = (self.tell.clone(), about.call.clone());
        self.begin(CallKind::Ask(Box::new(about)), |stop| async move {
            let tell = move |progress| drop(told.try_send((whose.clone(), progress)));
            TaskResult::Answer(Box::new(asking.answer(&tell, stop).await))
        });
    }

    /// Starts an action that takes time.
    pub(super) fn act<F>(&mut self, call: CallId, act: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        self.begin(CallKind::Action(call), |stop| {
            let act = act(stop);
            async move { TaskResult::Outcome(Box::new(act.await)) }
        });
    }

    fn begin<F>(&mut self, what: CallKind, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = TaskResult> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let abort = self.tasks.spawn(task(stop.clone()));
        self.known.insert(abort.id(), RunningCall { what, stop, abort, until: None });
    }

    /// Asks a call to stop and abandons it after `grace`.
    pub(super) fn stop(&mut self, call: &CallId, grace: Duration) {
        let until = Instant::now() + grace;
        for under in self.known.values_mut().filter(|under| under.what.call() == call) {
            under.stop.cancel();
            under.until = Some(under.until.map_or(until, |before| before.min(until)));
        }
    }

    /// Waits for the next event, forever if nothing is under way.
    pub(super) async fn next(&mut self) -> CallEvent {
        loop {
            let deadline = self.known.values().filter_map(|under| under.until).min();
            let late = async {
                match deadline {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some((call, progress)) = self.heard.recv() => return CallEvent::Progress(call, progress),
                Some(joined) = self.tasks.join_next_with_id() => {
                    if let Some(ended) = self.ended(joined) {
                        return CallEvent::Ended(Box::new(ended));
                    }
                }
                () = late => self.give_up_late_ones(),
                else => std::future::pending().await,
            }
        }
    }

    /// Returns the calls that have already come back, without waiting.
    pub(super) fn drain(&mut self) -> Vec<EndedCall> {
        let mut ended = Vec::new();
        while let Some(joined) = self.tasks.try_join_next_with_id() {
            ended.extend(self.ended(joined));
        }
        ended
    }

    /// Ends all calls and gives agents `grace` to exit. Discards their results.
    pub(super) async fn shut_down(&mut self, grace: Duration) {
        for under in self.known.values() {
            under.stop.cancel();
        }
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // Dropping the remaining tasks also ends the processes they started.
        drop(tokio::time::timeout(grace, all).await);
        self.tasks.shutdown().await;
        self.known.clear();
    }

    fn give_up_late_ones(&mut self) {
        let now = Instant::now();
        for under in self.known.values_mut().filter(|under| under.until.is_some_and(|until| until <= now)) {
            under.abort.abort();
            under.until = None;
        }
    }

    fn ended(&mut self, joined: Result<(Id, TaskResult), tokio::task::JoinError>) -> Option<EndedCall> {
        let (id, came) = match joined {
            Ok(joined) => joined,
            Err(error) => {
                let id = error.id();
                let came = match error.try_into_panic() {
                    Ok(panic) => TaskResult::Panicked(words(panic.as_ref())),
                    Err(_) => TaskResult::Abandoned,
                };
                (id, came)
            }
        };
        Some(match self.known.remove(&id)?.what {
            CallKind::Ask(about) => EndedCall::Ask { about, came },
            CallKind::Action(call) => EndedCall::Action { call, came },
        })
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use saihai_model::Reply;

    use super::*;

    fn about(n: u32) -> AskContext {
        let call = CallId { stage: "plan".into(), visit: 1, round: 1, n };
        AskContext {
            call,
            place: RoundPosition::Main(0),
            prompt: String::new(),
            began: Moment(0),
            provider: "script".into(),
            session: None,
            price: Price::default(),
            is_counted: false,
        }
    }

    fn ask(n: u32) -> CallKind {
        CallKind::Ask(Box::new(about(n)))
    }

    fn answered(text: &str) -> TaskResult {
        TaskResult::Answer(Box::new(Ok(Reply { text: text.to_owned(), ..Reply::default() })))
    }

    async fn came(calls: &mut RunningCalls) -> String {
        match calls.next().await {
            CallEvent::Ended(ended) => match came_of(*ended) {
                TaskResult::Answer(answer) => answer.unwrap().text,
                TaskResult::Outcome(outcome) => format!("{outcome:?}"),
                TaskResult::Panicked(said) => format!("panicked: {said}"),
                TaskResult::Abandoned => "abandoned".to_owned(),
            },
            CallEvent::Progress(call, progress) => format!("{call} {progress:?}"),
        }
    }

    fn came_of(ended: EndedCall) -> TaskResult {
        match ended {
            EndedCall::Ask { came, .. } | EndedCall::Action { came, .. } => came,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_action_is_stopped_like_an_ask() {
        let mut calls = RunningCalls::new();
        calls.act(about(1).call, |stop| async move {
            stop.cancelled().await;
            Outcome::NotYet
        });
        calls.stop(&about(1).call, Duration::from_secs(1));
        assert_eq!(came(&mut calls).await, "NotYet");
        assert!(calls.is_empty());
    }

    // T-70: a panic in our code ends its own ask and nothing else.
    #[tokio::test(start_paused = true)]
    async fn an_ask_that_panics_comes_back_and_the_others_go_on() {
        let mut calls = RunningCalls::new();
        calls.begin(ask(1), |_| async { panic!("out of {}", "order") });
        calls.begin(ask(2), |stop| async move {
            stop.cancelled().await;
            answered("late reply")
        });
        assert_eq!(came(&mut calls).await, "panicked: out of order");
        calls.stop(&about(2).call, Duration::from_secs(1));
        assert_eq!(came(&mut calls).await, "late reply");
        assert!(calls.is_empty());
    }

    // K-22
    #[tokio::test(start_paused = true)]
    async fn an_ask_that_does_not_stop_is_given_up_after_its_grace_and_not_before() {
        let mut calls = RunningCalls::new();
        calls.begin(ask(1), |_| std::future::pending());
        let before = Instant::now();
        calls.stop(&about(1).call, Duration::from_secs(12));
        calls.stop(&about(1).call, Duration::from_millis(2_500));
        assert_eq!(came(&mut calls).await, "abandoned");
        assert_eq!(before.elapsed(), Duration::from_millis(2_500));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_come_back_already_is_drained_without_waiting() {
        let mut calls = RunningCalls::new();
        calls.begin(ask(1), |_| async { answered("here") });
        calls.begin(ask(2), |_| std::future::pending());
        tokio::task::yield_now().await;
        let drained: Vec<_> = calls.drain().into_iter().map(came_of).collect();
        assert!(matches!(&drained[..], [TaskResult::Answer(_)]), "{drained:?}");
        assert!(!calls.is_empty());
        calls.shut_down(Duration::from_secs(1)).await;
        assert!(calls.is_empty());
    }
}
