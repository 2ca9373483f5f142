#include "server/task_events.h"

#include <algorithm>
#include <charconv>

#include "server/sse.h"
#include "server/task_json.h"

namespace saccade {
namespace {

// "<claim>.<bytes>"; what cannot be read stands for the beginning.
void ReadEventId(std::string_view id, int64_t& claim, size_t& offset) {
  const size_t dot = id.find('.');
  if (dot == std::string_view::npos) return;
  int64_t read_claim = 0;
  size_t read_offset = 0;
  const auto first = std::from_chars(id.data(), id.data() + dot, read_claim);
  const auto second = std::from_chars(id.data() + dot + 1, id.data() + id.size(), read_offset);
  if (first.ec != std::errc() || second.ec != std::errc()) return;
  claim = read_claim;
  offset = read_offset;
}

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

struct TaskEvents::Watcher {
  std::shared_ptr<Exchange> exchange;
  std::string id;
  int64_t claim = 0;  // of the text that was sent
  size_t offset = 0;  // bytes of it
  std::string last_status, last_stage;
  Clock::time_point next_store{};
  bool was_live = false, ended = false;
};

TaskEvents::TaskEvents(TaskEventSource source, TaskEventOptions options)
    : source_(std::move(source)), options_(options), thread_([this] { Loop(); }) {}

TaskEvents::~TaskEvents() {
  Stop();
  thread_.join();
}

void TaskEvents::Watch(const std::shared_ptr<Exchange>& exchange, const Task& task,
                       std::string_view last_event_id) {
  auto watcher = std::make_shared<Watcher>();
  watcher->exchange = exchange;
  watcher->id = task.id;
  ReadEventId(last_event_id, watcher->claim, watcher->offset);
  HttpResponse head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers.emplace_back("cache-control", "no-cache");
  head.headers.emplace_back("x-accel-buffering", "no");
  exchange->StartStream(std::move(head), {kSsePing, options_.heartbeat});
  const std::lock_guard lock(mutex_);
  if (stopping_) return exchange->EndStream();
  watchers_.push_back(std::move(watcher));
  changed_.notify_all();
}

void TaskEvents::Stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void TaskEvents::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (watchers_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto watchers = watchers_;
    lock.unlock();
    for (const auto& watcher : watchers) {
      if (watcher->exchange->gone()) watcher->ended = true;
      if (!watcher->ended) Look(*watcher);
    }
    lock.lock();
    watchers_.remove_if([](const auto& watcher) { return watcher->ended; });
    changed_.wait_for(lock, options_.live_every);
  }
  for (const auto& watcher : watchers_) watcher->exchange->EndStream();
  watchers_.clear();
}

void TaskEvents::Send(Watcher& watcher, std::string_view event, const OrderedJson& data) {
  watcher.exchange->Write(fmt::format("id: {}.{}\nevent: {}\ndata: {}\n\n", watcher.claim, watcher.offset,
                                      event, DumpJson(data)));
}

void TaskEvents::Look(Watcher& watcher) {
  if (const auto live = source_.live(watcher.id)) {
    watcher.was_live = true;
    LookAtLive(watcher, *live);
    return;
  }
  const auto now = Clock::now();
  // A task that ran here a moment ago has ended.
  if (!std::exchange(watcher.was_live, false) && now < watcher.next_store) return;
  watcher.next_store = now + options_.store_every;
  const auto task = source_.get(watcher.id);
  if (task.ok()) return LookAtTask(watcher, *task);
  if (task.status().code() != StatusCode::kNotFound) return;  // the store is away for a moment
  watcher.exchange->EndStream();
  watcher.ended = true;
}

void TaskEvents::LookAtLive(Watcher& watcher, const TaskLive& live) {
  if (watcher.last_status != "running") {
    watcher.last_status = "running";
    Send(watcher, "status", {{"task_id", watcher.id}, {"status", "running"}});
  }
  const std::string stage = fmt::format("{} {}/{}", live.stage, live.done, live.total);
  if (live.stage != "answering" && stage != watcher.last_stage) {
    watcher.last_stage = stage;
    Send(watcher, "progress", {{"stage", live.stage}, {"done", live.done}, {"total", live.total}});
  }
  SendText(watcher, live.claim, live.text);
}

void TaskEvents::SendText(Watcher& watcher, int64_t claim, const std::string& text) {
  if (claim != watcher.claim) {
    const bool had_text = watcher.offset > 0;
    watcher.claim = claim;
    watcher.offset = 0;
    if (had_text) Send(watcher, "restart", {{"task_id", watcher.id}});
  }
  size_t begin = std::min(watcher.offset, text.size());
  while (begin > 0 && begin < text.size() && IsContinuation(text[begin])) --begin;
  if (begin == text.size()) return;
  watcher.offset = text.size();
  Send(watcher, "text", {{"text", text.substr(begin)}});
}

void TaskEvents::LookAtTask(Watcher& watcher, const Task& task) {
  const OrderedJson json = TaskJson(task, std::nullopt, source_.seconds_per_task());
  if (!IsFinal(task.state)) {
    if (task.state == TaskState::kRunning) {
      const auto progress = json.find("progress");
      TaskLive live;
      live.claim = task.claims;
      live.stage = progress->value("stage", "preparing");
      live.done = progress->value("done", int64_t{0});
      live.total = progress->value("total", int64_t{0});
      live.text = progress->value("text", "");
      return LookAtLive(watcher, live);
    }
    std::string status = fmt::format("queued {}", task.position);
    if (status == watcher.last_status) return;
    watcher.last_status = std::move(status);
    return Send(watcher, "status",
                {{"task_id", task.id},
                 {"status", "queued"},
                 {"position", task.position},
                 {"eta_seconds", json["eta_seconds"]}});
  }
  if (task.state == TaskState::kDone && json["answer"].is_string()) {
    SendText(watcher, task.claims, json["answer"].get<std::string>());
  }
  Send(watcher, TaskStateName(task.state), json);
  watcher.exchange->EndStream();
  watcher.ended = true;
}

}  // namespace saccade
