#include "engine/engine.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/engine_loop.h"
#include "engine/prepare.h"
#include "engine/prompt_plan.h"

namespace saccade {
namespace {

// 64 tokens of 2B are 7 MiB of bf16 keys and values: small enough that a short answer wastes little, large
// enough that attention streams whole pages.
constexpr int kPageTokens = 64;

// Without a setting: room for four average conversations, but no more than an eighth of the memory.
constexpr int64_t kDefaultKvTokens = 32768;

void PinToCpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

int64_t ChooseKvTokens(const Checkpoint& checkpoint, const EngineOptions& options, const KvLayout& layout,
                       const Topology& topology) {
  if (options.kv_cache_tokens > 0) return options.kv_cache_tokens;
  const auto token_bytes =
      static_cast<int64_t>(layout.PageBytes()) * checkpoint.model->config().text.layers / layout.page_tokens;
  const int64_t affordable = topology.UsableMemoryBytes() / 8 / std::max<int64_t>(1, token_bytes);
  return std::max<int64_t>(kPageTokens * 4, std::min({kDefaultKvTokens, affordable,
                                                      checkpoint.context_tokens * options.max_running}));
}

// Bytes that one image token of a request takes: its patches until they are encoded, and its features.
int64_t PictureTokenBytes(const Checkpoint& checkpoint) {
  const VisionConfig& vision = checkpoint.model->config().vision;
  const int64_t patch_bytes =
      int64_t{3} * checkpoint.preprocessor.patch_size * checkpoint.preprocessor.patch_size;
  const auto feature_sets = 1 + static_cast<int64_t>(vision.deepstack_layers.size());
  const int64_t feature_bytes = int64_t{checkpoint.model->config().text.hidden} * feature_sets * 4;
  return vision.merged_patches() * patch_bytes + feature_bytes;
}

}  // namespace

class Engine::Impl {
 public:
  Impl(std::shared_ptr<const Checkpoint> checkpoint, EngineOptions options, Isa isa, const Topology& topology)
      : checkpoint_(std::move(checkpoint)),
        options_(options),
        cpus_(options.pin_threads ? topology.core_cpus : std::vector<int>{}),
        pool_(options.threads, cpus_),
        context_(pool_, isa) {}

  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  Status Init(const Topology& topology) {
    const TextConfig& text = checkpoint_->model->config().text;
    const KvLayout layout = {options_.kv_type, text.kv_heads, text.head_dim, kPageTokens};
    const int64_t tokens = ChooseKvTokens(*checkpoint_, options_, layout, topology);
    SACCADE_ASSIGN_OR_RETURN(auto pages,
                             KvPagePool::Make(layout, text.layers, (tokens + kPageTokens - 1) / kPageTokens));
    // One request must always fit alone, with a page to spare for the token under way.
    request_tokens_ = std::min(checkpoint_->context_tokens, (pages->total() - 1) * kPageTokens);
    kv_page_bytes_ = static_cast<int64_t>(layout.PageBytes()) * text.layers;
    options_.kv_cache_tokens = pages->total() * kPageTokens;
    loop_ = std::make_unique<EngineLoop>(*checkpoint_, options_, context_, std::move(pages));
    stats_ = loop_->Stats();
    thread_ = std::thread([this] { Run(); });
    return OkStatus();
  }

  Result<std::shared_ptr<PreparedRequest>> Prepare(const ChatInput& input) const {
    return PrepareRequest(*checkpoint_, input, request_tokens_);
  }

  Result<RequestEstimate> Estimate(const ChatInput& input) const {
    SACCADE_ASSIGN_OR_RETURN(const PromptPlan plan, PlanPrompt(*checkpoint_, input, request_tokens_));
    RequestEstimate estimate;
    for (const PicturePlan& picture : plan.pictures)
      estimate.pictures.push_back({picture.original, picture.resized, picture.tokens});
    estimate.prompt_tokens = plan.prompt_tokens;
    estimate.image_tokens = plan.image_tokens;
    estimate.max_tokens = plan.max_tokens;
    estimate.context_tokens = request_tokens_;
    const int64_t pages = (plan.prompt_tokens + plan.max_tokens + kPageTokens - 1) / kPageTokens;
    estimate.kv_bytes = pages * kv_page_bytes_;
    estimate.picture_bytes = plan.image_tokens * PictureTokenBytes(*checkpoint_);
    return estimate;
  }

  Result<RequestId> Submit(std::shared_ptr<const PreparedRequest> request, EventSink sink, int choice) {
    std::unique_lock lock(mutex_);
    if (stop_) return Unavailable("the engine is shutting down");
    if (waiting_ >= options_.max_waiting) {
      return ResourceExhausted("{} requests are waiting already; try again later", waiting_);
    }
    ++waiting_;
    const RequestId id = next_id_++;
    inbox_.push_back(std::make_unique<Sequence>(id, std::move(request), std::move(sink), *checkpoint_,
                                                kPageTokens, choice));
    lock.unlock();
    wake_.notify_all();
    return id;
  }

  void Cancel(RequestId id) {
    {
      std::lock_guard lock(mutex_);
      cancelled_.push_back(id);
    }
    wake_.notify_all();
  }

  EngineStats Stats() const {
    std::lock_guard lock(mutex_);
    EngineStats stats = stats_;
    stats.waiting = waiting_;
    stats.max_waiting = options_.max_waiting;
    return stats;
  }

  const Checkpoint& checkpoint() const { return *checkpoint_; }
  const EngineOptions& options() const { return options_; }

 private:
  void Run() {
    if (!cpus_.empty()) PinToCpu(cpus_.front());
    while (TakeInput()) {
      if (!loop_->idle()) loop_->Step();
      PublishStats();
    }
    loop_->CancelAll();
    for (auto& sequence : inbox_) sequence->Finish(FinishReason::kCancelled);
  }

  // Waits for work and moves it into the loop; false when the engine stops.
  bool TakeInput() {
    std::deque<std::unique_ptr<Sequence>> arrived;
    std::vector<RequestId> cancelled;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !inbox_.empty() || !cancelled_.empty() || !loop_->idle(); });
      if (stop_) return false;
      arrived.swap(inbox_);
      cancelled.swap(cancelled_);
    }
    for (auto& sequence : arrived) loop_->Add(std::move(sequence));
    for (RequestId id : cancelled) loop_->Cancel(id);
    return true;
  }

  void PublishStats() {
    std::lock_guard lock(mutex_);
    stats_ = loop_->Stats();
    waiting_ = stats_.waiting + static_cast<int64_t>(inbox_.size());
  }

  const std::shared_ptr<const Checkpoint> checkpoint_;
  EngineOptions options_;
  const std::vector<int> cpus_;
  ThreadPool pool_;
  KernelContext context_;
  std::unique_ptr<EngineLoop> loop_;  // engine thread only, once it runs
  int64_t request_tokens_ = 0;
  int64_t kv_page_bytes_ = 0;  // all layers of one page

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  RequestId next_id_ = 1;
  int64_t waiting_ = 0;
  std::deque<std::unique_ptr<Sequence>> inbox_;
  std::vector<RequestId> cancelled_;
  EngineStats stats_;
  std::thread thread_;
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::Start(std::shared_ptr<const Checkpoint> checkpoint,
                                              EngineOptions options) {
  SACCADE_ASSIGN_OR_RETURN(const Isa isa, SelectIsa());
  const Topology topology = DetectTopology();
  if (options.threads <= 0) options.threads = topology.ComputeThreads();
  auto impl = std::make_unique<Impl>(std::move(checkpoint), options, isa, topology);
  SACCADE_RETURN_IF_ERROR(impl->Init(topology));
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Result<std::shared_ptr<PreparedRequest>> Engine::Prepare(const ChatInput& input) const {
  return impl_->Prepare(input);
}

RequestUsage Engine::Cost(const PreparedRequest& request) {
  RequestUsage usage;
  usage.prompt_tokens = static_cast<int64_t>(request.prompt.size());
  usage.image_tokens = request.image_tokens;
  return usage;
}

Result<RequestEstimate> Engine::Estimate(const ChatInput& input) const { return impl_->Estimate(input); }

Result<Engine::RequestId> Engine::Submit(std::shared_ptr<const PreparedRequest> request, EventSink sink,
                                         int choice) {
  return impl_->Submit(std::move(request), std::move(sink), choice);
}

void Engine::Cancel(RequestId id) { impl_->Cancel(id); }
EngineStats Engine::Stats() const { return impl_->Stats(); }
const Checkpoint& Engine::checkpoint() const { return impl_->checkpoint(); }
const EngineOptions& Engine::options() const { return impl_->options(); }

}  // namespace saccade
