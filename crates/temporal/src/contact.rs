//! The last contact of a worker with its server. A worker without contact ends its agents before the server counts it
//! as lost, so that no agent works on while another host repeats its turn (D-9).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use saihai::Clock;
use saihai_model::{Millis, Moment};
use temporalio_client::Client;
use temporalio_client::grpc::WorkflowService as _;
use temporalio_client::tonic::IntoRequest as _;
use temporalio_common::protos::temporal::api::workflowservice::v1::GetSystemInfoRequest;

#[derive(Debug)]
pub(crate) struct Contact {
    clock: Clock,
    last: AtomicU64,
}

/// Interval of questions, and the longest wait for an answer.
const INTERVAL: Duration = Duration::from_secs(1);

impl Contact {
    /// Starts to ask the server for a sign of life. The clock also counts while the machine sleeps.
    pub(crate) fn start(client: Client) -> Arc<Self> {
        let clock = Clock::system();
        let contact = Arc::new(Self { last: AtomicU64::new(clock.now().0), clock });
        let kept = contact.clone();
        tokio::spawn(async move {
            let mut client = client;
            loop {
                let mut request = GetSystemInfoRequest::default().into_request();
                request.set_timeout(INTERVAL);
                if client.get_system_info(request).await.is_ok() {
                    kept.last.store(kept.clock.now().0, Ordering::Relaxed);
                }
                tokio::time::sleep(INTERVAL).await;
            }
        });
        contact
    }

    pub(crate) fn silent_for(&self, now: Moment) -> Millis {
        now.since(Moment(self.last.load(Ordering::Relaxed)))
    }
}
