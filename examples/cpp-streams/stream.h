// A stream and the records of events, with the means of C++17.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

// A queue of jobs, which a thread of its own runs in order.
class Stream {
 public:
  Stream() : worker_([this] { run(); }) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Waits for the jobs.
  ~Stream() {
    end();
    worker_.join();
  }

  void push(std::function<void()> job) {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      jobs_.push_back(std::move(job));
      ++queued_;
    }
    changed_.notify_all();
  }

  // Lets the thread end when it has run the jobs. Does not wait.
  void end() {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      is_ending_ = true;
    }
    changed_.notify_all();
  }

  bool is_done() {
    const std::lock_guard<std::mutex> guard(lock_);
    return done_ == queued_;
  }

  // Waits for the jobs that were pushed before this call.
  void synchronize() {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this, target = queued_] { return done_ >= target; });
  }

 private:
  void run() {
    std::unique_lock<std::mutex> guard(lock_);
    for (;;) {
      changed_.wait(guard, [this] { return is_ending_ || !jobs_.empty(); });
      if (jobs_.empty()) {
        return;
      }
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      guard.unlock();
      job();
      // Destroys what the job holds before its end is visible.
      job = nullptr;
      guard.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::uint64_t queued_ = 0;
  std::uint64_t done_ = 0;
  bool is_ending_ = false;
  // The last member: the thread uses the others.
  std::thread worker_;
};

// One record of an event. A stream that waits holds the record and not the event, so the event may be recorded again or
// destroyed.
class Record {
 public:
  void complete() {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      time_ = std::chrono::steady_clock::now();
      is_complete_ = true;
    }
    changed_.notify_all();
  }

  bool is_complete() {
    const std::lock_guard<std::mutex> guard(lock_);
    return is_complete_;
  }

  void wait() {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this] { return is_complete_; });
  }

  // The time of the completion. The record must be complete.
  std::chrono::steady_clock::time_point time() {
    const std::lock_guard<std::mutex> guard(lock_);
    return time_;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool is_complete_ = false;
  std::chrono::steady_clock::time_point time_;
};
