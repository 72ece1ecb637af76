//! Requests that take long leave the threads that serve everybody.
//!
//! A request begins on the thread of its connection, and most end there. One that is about to work long says so ([`Notice::announce`]);
//! from then on each of its steps runs on a thread for blocking work, of which a server uses no more than the machine has cores. While it
//! waits for a webhook or a client, it holds none.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::available_parallelism;

use futures_util::task::AtomicWaker;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// The threads for requests that take long.
#[derive(Debug)]
pub(crate) struct Threads {
    permits: Arc<Semaphore>,
    steps: AtomicUsize,
}

impl Default for Threads {
    fn default() -> Self {
        Threads {
            permits: Arc::new(Semaphore::new(available_parallelism().map_or(2, usize::from))),
            steps: AtomicUsize::new(0),
        }
    }
}

impl Threads {
    /// Runs a request, which gets the notice by which it can say that it takes long.
    pub(crate) fn run<T, F>(self: &Arc<Self>, request: impl FnOnce(Notice) -> F) -> Movable<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let notice = Notice::default();
        Movable {
            threads: Arc::clone(self),
            wakes: Arc::default(),
            place: Place::Here(Box::pin(request(notice.clone()))),
            notice,
        }
    }

    /// How many steps of requests ran on such a thread so far.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> usize {
        self.steps.load(Ordering::Acquire)
    }
}

/// How a request says that it takes long: an extension of it. In-process requests have none; they work where their caller is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notice(Arc<AtomicBool>);

impl Notice {
    /// Says that what follows takes long; returns on a thread where it may.
    pub(crate) async fn announce(&self) {
        if self.0.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut is_moved = false;
        // Whoever polls sees the announcement when this returns, and polls again elsewhere.
        poll_fn(|_| {
            if std::mem::replace(&mut is_moved, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn is_announced(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

type Request<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A request that moves to another thread when it says that it takes long.
pub(crate) struct Movable<T> {
    threads: Arc<Threads>,
    notice: Notice,
    wakes: Arc<Wakes>,
    place: Place<T>,
}

/// Where a request is.
enum Place<T> {
    /// On the thread of its connection.
    Here(Request<T>),
    /// Announced, and waiting for something that will wake it.
    Waiting(Request<T>),
    /// About to be polled, as soon as a thread is free.
    Queued(
        Request<T>,
        Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>,
    ),
    /// On another thread.
    There(JoinHandle<(Request<T>, Poll<T>)>),
    /// Answered.
    Done,
}

impl<T: Send + 'static> Future for Movable<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        loop {
            self.place = match std::mem::replace(&mut self.place, Place::Done) {
                Place::Here(mut request) => {
                    let answer = request.as_mut().poll(context);
                    if answer.is_ready() {
                        return answer;
                    }
                    if !self.notice.is_announced() {
                        self.place = Place::Here(request);
                        return Poll::Pending;
                    }
                    self.queued(request)
                }
                Place::Waiting(request) => {
                    self.wakes.outer.register(context.waker());
                    if !self.wakes.happened.swap(false, Ordering::AcqRel) {
                        self.place = Place::Waiting(request);
                        return Poll::Pending;
                    }
                    self.queued(request)
                }
                Place::Queued(request, mut permit) => match permit.as_mut().poll(context) {
                    Poll::Pending => {
                        self.place = Place::Queued(request, permit);
                        return Poll::Pending;
                    }
                    Poll::Ready(permit) => self.elsewhere(request, permit),
                },
                Place::There(mut running) => match Pin::new(&mut running).poll(context) {
                    Poll::Pending => {
                        self.place = Place::There(running);
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok((_, Poll::Ready(answer)))) => return Poll::Ready(answer),
                    Poll::Ready(Ok((request, Poll::Pending))) => Place::Waiting(request),
                    Poll::Ready(Err(error)) => match error.try_into_panic() {
                        Ok(panic) => std::panic::resume_unwind(panic),
                        // The runtime is shutting down, and the connection with it.
                        Err(_) => return Poll::Pending,
                    },
                },
                Place::Done => return Poll::Pending,
            };
        }
    }
}

impl<T: Send + 'static> Movable<T> {
    fn queued(&self, request: Request<T>) -> Place<T> {
        let permits = Arc::clone(&self.threads.permits);
        // Nobody closes the semaphore.
        Place::Queued(request, Box::pin(async move { permits.acquire_owned().await.ok() }))
    }

    /// Polls the request once on another thread.
    fn elsewhere(&self, mut request: Request<T>, permit: Option<OwnedSemaphorePermit>) -> Place<T> {
        self.threads.steps.fetch_add(1, Ordering::AcqRel);
        let waker = Waker::from(Arc::clone(&self.wakes));
        Place::There(tokio::task::spawn_blocking(move || {
            let answer = request.as_mut().poll(&mut Context::from_waker(&waker));
            drop(permit);
            (request, answer)
        }))
    }
}

/// Remembers that a request was woken, also while it is on another thread.
#[derive(Debug, Default)]
struct Wakes {
    happened: AtomicBool,
    outer: AtomicWaker,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.happened.store(true, Ordering::Release);
        self.outer.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_request_that_takes_long_holds_up_nobody_on_its_thread() {
        let threads = Arc::new(Threads::default());
        let (go_on, waits) = mpsc::channel();
        let long = tokio::spawn(threads.run(|notice| async move {
            notice.announce().await;
            // Blocks its thread until others were served.
            waits.recv().unwrap()
        }));
        let mut served = 0;
        for _ in 0..100 {
            served += tokio::spawn(threads.run(|_| async { 1 })).await.unwrap();
        }
        go_on.send(served).unwrap();
        assert_eq!(long.await.unwrap(), 100);
        assert_eq!(threads.steps(), 1);
    }

    #[tokio::test]
    async fn a_request_that_does_not_say_so_stays() {
        let threads = Arc::new(Threads::default());
        let here = std::thread::current().id();
        let answer = threads.run(|_| async {
            tokio::task::yield_now().await;
            std::thread::current().id()
        });
        assert_eq!(answer.await, here);
        assert_eq!(threads.steps(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_holds_no_thread_and_no_clock() {
        let threads = Arc::new(Threads::default());
        let began = tokio::time::Instant::now();
        let minute = std::time::Duration::from_mins(1);
        // More than there are threads, all of which wait at the same time.
        let waiting = (0..100).map(|_| {
            tokio::spawn(threads.run(|notice| async move {
                notice.announce().await;
                tokio::time::sleep(minute).await;
            }))
        });
        for request in waiting.collect::<Vec<_>>() {
            request.await.unwrap();
        }
        assert_eq!(began.elapsed().as_secs(), minute.as_secs());
        assert_eq!(threads.steps(), 200);
    }

    #[tokio::test]
    async fn no_more_threads_are_used_than_there_are_permits() {
        let threads = Arc::new(Threads {
            permits: Arc::new(Semaphore::new(2)),
            ..Threads::default()
        });
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let requests = (0..50).map(|_| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            tokio::spawn(threads.run(|notice| async move {
                notice.announce().await;
                most.fetch_max(running.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
                std::thread::yield_now();
                running.fetch_sub(1, Ordering::AcqRel);
            }))
        });
        for request in requests.collect::<Vec<_>>() {
            request.await.unwrap();
        }
        assert!((1..=2).contains(&most.load(Ordering::Acquire)));
    }

    #[tokio::test]
    async fn a_wake_while_it_works_is_not_lost() {
        let threads = Arc::new(Threads::default());
        let answer = threads.run(|notice| async move {
            notice.announce().await;
            for _ in 0..100 {
                // Wakes before it returns that it waits.
                tokio::task::yield_now().await;
            }
            7
        });
        assert_eq!(answer.await, 7);
    }
}
