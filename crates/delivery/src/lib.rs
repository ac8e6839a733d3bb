//! From issues to branches, pull requests and merges.
//!
//! A delivery is part of the run of its issue: [`deliver`] puts gate and action stages around a definition, and
//! [`DeliveryExecutor`] performs the actions from what was frozen at the start ([`IssueAssignment`]). All state is in the
//! journals of the runs, in git and on the forge; [`IssueRun`] is the fold of one journal.
//!
//! An issue is observed once ([`IssueSelection::list`]), assessed purely ([`assess`], [`NextWork`]) and then worked on
//! ([`IssueWork`]). [`WorkPlan`] says what waits for what, [`schedule`] what starts now; both are pure too.

mod activity;
mod assess;
mod assignment;
mod batch;
mod context;
mod definition;
mod dependencies;
mod executor;
mod forge_actions;
mod issue_end;
mod issue_run;
mod issue_work;
mod labeller;
mod observe;
mod polling;
mod published;
mod reason;
mod repository_actions;
mod run_trees;
mod schedule;
mod stages;

#[cfg(test)]
mod tests;

pub use activity::IssueActivity;
pub use assess::{
    IssueWish, IssueWorkState, LocalBranches, NextWork, Observation, OpenedRequest, RepeatFlags,
    UndoneReason, assess, is_adoptable, status_labels,
};
pub use assignment::{EarlierDelivery, ForgeDestination, IssueAssignment, OwnTree, Placement, issue_item};
pub use batch::{BatchIssue, BatchStep, ListingNews, WorkBatch};
pub use context::{WorkContext, WorkError, WorkHost};
pub use definition::{BaseChoice, BaseSource, IssueDefinition};
pub use dependencies::{
    DependencyObstacle, DependencyPolicy, IssueDependencies, IssueOrder, KnownIssue, PlanError, PlannedIssue,
    WorkPlan, order,
};
pub use executor::{
    DeliveryExecutor, DeliveryResources, ForgeConnection, MergeQueue, MergeWaitObserver, OwnTreeExecutor,
    RestoreError,
};
pub use issue_end::IssueEnd;
pub use issue_run::{IssueRun, IssueRuns, StageOutputs};
pub use issue_work::{IssueEvent, IssueEvents, IssueWork, failed_result};
pub use labeller::{LabelFailure, Labeller};
pub use observe::{IssueSelection, Listing, ListingNote};
pub use polling::{PollBackoffs, PollSchedule};
pub use published::{RunSummary, StageTotals};
pub use reason::{DependencyReason, IssueReason, IssueResult};
pub use repository_actions::can_adopt;
pub use run_trees::{MissingTrees, RunChangeCounter, RunTrees, is_changed_by_run};
pub use schedule::{IssueProgress, Schedule, ScheduleInput, ScheduleStep, schedule};
pub use stages::{
    DeliveryOptions, DeliveryTarget, comments, deliver, gate_stage, hand_over_later, merge_later, place,
    stage,
};
