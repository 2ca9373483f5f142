#include "bench/bench.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/topology.h"
#include "bench/limits.h"
#include "bench/stages.h"
#include "bench/work.h"

namespace saccade {
namespace {

constexpr int64_t kPrefillSlice = 512;
constexpr int64_t kDecodePast = 256;
// Steps per measurement: a single one is too short for a steady clock.
constexpr int kDecodeSteps = 8;

int64_t PeakMemoryBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// Seconds that the limits allow for the work.
double IdealSeconds(const StageWork& work, WeightType type, bool bf16_attention, const BenchLimits& limits) {
  const double products = type == WeightType::kBf16  ? limits.bf16_gops
                          : type == WeightType::kF32 ? limits.f32_gops
                                                     : limits.int8_gops;
  const double attention = bf16_attention && limits.bf16_gops > 0 ? limits.bf16_gops : limits.f32_gops;
  if (products <= 0 || attention <= 0) return 0;
  return work.matrix_ops / products / 1e9 + work.attention_ops / attention / 1e9;
}

// One run of the whole list.
class Bench {
 public:
  Bench(const Checkpoint& checkpoint, const BenchOptions& options, const BenchProgress& progress,
        KernelContext& context)
      : model_(*checkpoint.model),
        options_(options),
        progress_(progress),
        context_(context),
        meter_(context) {}

  Status Run(BenchReport& report) {
    SACCADE_RETURN_IF_ERROR(RunVision());
    SACCADE_RETURN_IF_ERROR(RunPrefill());
    SACCADE_RETURN_IF_ERROR(RunDecode());
    report.rows = std::move(rows_);
    report.limits = meter_.best();
    return OkStatus();
  }

 private:
  bool IsWanted(const std::string& name) const { return name.rfind(options_.only, 0) == 0; }

  // Times `work`, whose failures end the bench.
  Result<LimitMeter::Timing> Time(const std::string& name, const std::function<Status()>& work) {
    progress_(name);
    Status status;
    const LimitMeter::Timing timing = meter_.Time(options_.repeats, [&] {
      if (Status now = work(); status.ok()) status = std::move(now);
    });
    if (!status.ok()) return status;
    return timing;
  }

  void AddComputeRow(const std::string& name, const LimitMeter::Timing& timing, const StageWork& work,
                     WeightType type, bool bf16_attention, double tokens) {
    const double ideal = IdealSeconds(work, type, bf16_attention, timing.limits);
    rows_.push_back({name, timing.seconds * 1e3, tokens / timing.seconds,
                     (work.matrix_ops + work.attention_ops) / timing.seconds / 1e9, 0,
                     100 * ideal / timing.seconds});
  }

  Status RunVision() {
    const VisionConfig& config = model_.vision().config();
    const int unit = config.patch_size;
    struct Picture {
      int width, height;
    };
    for (const Picture picture : {Picture{448, 448}, Picture{1504, 992}, Picture{4032, 3040}}) {
      if (picture.width > 2000 && !options_.large_picture) continue;
      const std::string name = fmt::format("vision {}x{}", picture.width, picture.height);
      if (!IsWanted(name)) continue;
      VisionStage stage(model_.vision(), picture.height / unit, picture.width / unit);
      SACCADE_ASSIGN_OR_RETURN(const auto timing, Time(name, [&] { return stage.Run(context_); }));
      AddComputeRow(name, timing, VisionWork(config, stage.patches()), model_.types().vision,
                    model_.types().vision != WeightType::kF32,
                    static_cast<double>(stage.patches() / config.merged_patches()));
    }
    return OkStatus();
  }

  Status RunPrefill() {
    const TextConfig& config = model_.text().config();
    for (const int64_t tokens : {256, 1024}) {
      const std::string name = fmt::format("prefill {} tokens", tokens);
      if (tokens >= config.max_positions || !IsWanted(name)) continue;
      SACCADE_ASSIGN_OR_RETURN(const auto stage, TextStage::Make(model_.text(), options_.kv, 1, tokens));
      SACCADE_ASSIGN_OR_RETURN(const auto timing,
                               Time(name, [&] { return stage->Prefill(context_, tokens, kPrefillSlice); }));
      AddComputeRow(name, timing, PrefillWork(config, tokens), model_.types().text,
                    options_.kv != KvType::kF32, static_cast<double>(tokens));
    }
    return OkStatus();
  }

  Status RunDecode() {
    constexpr int kLargestBatch = 16;
    const TextConfig& config = model_.text().config();
    SACCADE_ASSIGN_OR_RETURN(const auto stage, TextStage::Make(model_.text(), options_.kv, kLargestBatch,
                                                               kDecodePast + kDecodeSteps + 1));
    for (const int batch : {1, 4, 8, kLargestBatch}) {
      const std::string name = fmt::format("decode batch {}", batch);
      if (!IsWanted(name)) continue;
      SACCADE_ASSIGN_OR_RETURN(
          const auto timing, Time(name, [&] {
            for (int step = 0; step < kDecodeSteps; ++step) {
              SACCADE_RETURN_IF_ERROR(stage->Decode(context_, batch, kDecodePast + step));
            }
            return OkStatus();
          }));
      const double bytes = DecodeBytes(config, static_cast<int64_t>(model_.text().bytes()), stage->layout(),
                                       batch, kDecodePast);
      const double step = timing.seconds / kDecodeSteps, rate = bytes / step / 1e9;
      rows_.push_back({name, step * 1e3, batch / step, 0, rate, 100 * rate / timing.limits.read_gbps});
    }
    return OkStatus();
  }

  const Model& model_;
  const BenchOptions& options_;
  const BenchProgress& progress_;
  KernelContext& context_;
  LimitMeter meter_;
  std::vector<BenchRow> rows_;
};

}  // namespace

Result<BenchReport> RunBench(const Checkpoint& checkpoint, const BenchOptions& options,
                             const BenchProgress& progress) {
  SACCADE_ASSIGN_OR_RETURN(const Isa isa, SelectIsa());
  const Topology topology = DetectTopology();
  ThreadPool pool(options.threads > 0 ? options.threads : topology.ComputeThreads(), topology.core_cpus);
  KernelContext context(pool, isa);
  BenchReport report;
  report.model = checkpoint.name;
  report.isa = IsaName(isa);
  report.processor = CpuModelName();
  report.types = checkpoint.model->types();
  report.kv = options.kv;
  report.threads = pool.threads();
  SACCADE_RETURN_IF_ERROR(Bench(checkpoint, options, progress, context).Run(report));
  report.peak_memory_bytes = PeakMemoryBytes();
  return report;
}

}  // namespace saccade
