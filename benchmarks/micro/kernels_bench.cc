// Kernels on the shapes of the real model, each beside the limit of the machine measured just before it,
// because shared machines change speed from minute to minute: read the percentages, not the times.
//   kernels_bench [--benchmark_filter=decode]
// SACCADE_FORCE_ISA and SACCADE_BENCH_THREADS apply.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/kernels.h"
#include "kernels/peaks/peaks.h"

namespace saccade {
namespace {

// Decode reads its weights from memory: this much of copies, so that no cache holds them.
constexpr size_t kColdBytes = size_t{256} << 20;

struct Machine {
  Machine() : pool(Threads()), context(pool, *SelectIsa()), probe(kColdBytes) {}
  static int Threads() {
    const char* forced = std::getenv("SACCADE_BENCH_THREADS");
    return forced != nullptr ? std::atoi(forced) : static_cast<int>(std::thread::hardware_concurrency());
  }
  ThreadPool pool;
  KernelContext context;
  ReadProbe probe;
};

Machine& TheMachine() {
  static Machine machine;
  return machine;
}

std::vector<float> Noise(size_t count) {
  std::vector<float> values(count);
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31F;
  }
  return values;
}

struct Shape {
  std::string name;
  WeightType type;
  int64_t rows, n, k;
  Epilogue epilogue;
};

Epilogue ParseEpilogue(const std::string& name) {
  if (name == "gelu_tanh") return Epilogue::kGeluTanh;
  if (name == "add") return Epilogue::kAdd;
  return name == "swiglu" ? Epilogue::kSwiGlu : Epilogue::kNone;
}

std::vector<Shape> ReadShapes(const char* path) {
  std::vector<Shape> shapes;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, type, epilogue;
    Shape shape{};
    if (line.empty() || line[0] == '#') continue;
    if (!(words >> name >> type >> shape.rows >> shape.n >> shape.k >> epilogue)) continue;
    shape.name = "linear/" + name + "/" + type + "/" + std::to_string(shape.rows);
    shape.type = *ParseWeightType(type);
    shape.epilogue = ParseEpilogue(epilogue);
    shapes.push_back(shape);
  }
  return shapes;
}

// Reports rate and limit: GFLOPS against the dot product peak, GB/s against read bandwidth.
void Report(benchmark::State& state, double ops, double bytes, double peak_gops, double bandwidth) {
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["GOP"] = benchmark::Counter(ops * iterations / 1e9, benchmark::Counter::kIsRate);
  state.counters["GB"] = benchmark::Counter(bytes * iterations / 1e9, benchmark::Counter::kIsRate);
  if (peak_gops > 0) {
    state.counters["%peak"] =
        benchmark::Counter(100 * ops * iterations / 1e9 / peak_gops, benchmark::Counter::kIsRate);
  }
  state.counters["%read"] =
      benchmark::Counter(100 * bytes * iterations / 1e9 / bandwidth, benchmark::Counter::kIsRate);
}

void BenchLinear(benchmark::State& state, const Shape& shape) {
  Machine& machine = TheMachine();
  const bool gate_up = shape.epilogue == Epilogue::kSwiGlu;
  const int64_t outputs = gate_up ? shape.n / 2 : shape.n;
  const size_t bytes = PackedBytes(shape.type, shape.n, shape.k);
  const size_t copies = shape.rows <= 32 ? kColdBytes / bytes : 1;
  AlignedBuffer weights(copies * bytes);
  const std::vector<float> w = Noise(static_cast<size_t>(outputs * shape.k));
  const TensorView view{DType::kF32, {outputs, shape.k}, std::as_bytes(std::span(w))};
  PackedMatrix matrix = gate_up ? PackGateUp(machine.context, shape.type, view, view, weights.data())
                                : PackMatrix(machine.context, shape.type, view, weights.data());
  for (size_t i = 1; i < copies; ++i) std::memcpy(weights.data() + i * bytes, weights.data(), bytes);
  const std::vector<float> x = Noise(static_cast<size_t>(shape.rows * shape.k));
  std::vector<float> out(static_cast<size_t>(shape.rows * outputs));
  const double peak = PeakGops(machine.context, shape.type);
  const double bandwidth = machine.probe.GigabytesPerSecond(machine.context);
  size_t copy = 0;
  for (auto _ : state) {
    matrix.data = weights.data() + copy++ % copies * bytes;
    Linear(machine.context, x.data(), shape.rows, shape.k, matrix, nullptr, shape.epilogue, out.data(),
           outputs);
  }
  Report(state, 2.0 * static_cast<double>(shape.rows * shape.n * shape.k), static_cast<double>(bytes), peak,
         bandwidth);
}

void BenchVision(benchmark::State& state, int64_t patches, bool bf16) {
  Machine& machine = TheMachine();
  constexpr int64_t kHeads = 16, kHeadDim = 64, kWidth = kHeads * kHeadDim;
  const std::vector<float> qkv = Noise(static_cast<size_t>(patches * 3 * kWidth));
  std::vector<float> out(static_cast<size_t>(patches * kWidth));
  const std::vector<int64_t> starts = {0, patches};
  const double peak = PeakGops(machine.context, bf16 ? WeightType::kBf16 : WeightType::kF32);
  for (auto _ : state) {
    VisionAttention(machine.context, qkv.data(), qkv.data() + kWidth, qkv.data() + 2 * kWidth, 3 * kWidth,
                    starts, kHeads, kHeadDim, bf16, out.data());
  }
  Report(state, 4.0 * static_cast<double>(patches * patches * kWidth), 0.0, peak, 1.0);
}

// `rows` new tokens of each of `sequences` sequences that have `past` tokens.
void BenchPaged(benchmark::State& state, KvType type, int page_tokens, int64_t sequences, int64_t past,
                int64_t rows) {
  Machine& machine = TheMachine();
  const KvLayout layout{type, 8, 128, page_tokens};
  const int64_t tokens = past + rows, pages = (tokens + page_tokens - 1) / page_tokens;
  AlignedBuffer cache(static_cast<size_t>(sequences * pages) * layout.PageBytes());
  std::vector<std::vector<std::byte*>> lists(static_cast<size_t>(sequences));
  std::vector<KvSegment> fill, segments;
  for (int64_t s = 0; s < sequences; ++s) {
    std::vector<std::byte*>& list = lists[static_cast<size_t>(s)];
    for (int64_t i = 0; i < pages; ++i) {
      list.push_back(cache.data() + static_cast<size_t>(s * pages + i) * layout.PageBytes());
    }
    fill.push_back({0, tokens, 0, list});
    segments.push_back({s * rows, rows, past, list});
  }
  const std::vector<float> kv = Noise(static_cast<size_t>(tokens * 2048));
  AppendKv(machine.context, layout, fill, kv.data(), 2048, kv.data() + 1024, 2048);
  const std::vector<float> q = Noise(static_cast<size_t>(sequences * rows * 2048));
  std::vector<float> out(q.size());
  const double peak = PeakGops(machine.context, WeightType::kBf16);
  const double bandwidth = machine.probe.GigabytesPerSecond(machine.context);
  for (auto _ : state) PagedAttention(machine.context, layout, segments, q.data(), 2048, 16, out.data());
  const double pairs =
      static_cast<double>(rows) * static_cast<double>(past) + 0.5 * static_cast<double>(rows * (rows + 1));
  Report(state, static_cast<double>(sequences) * pairs * 4.0 * 2048, static_cast<double>(cache.size()), peak,
         bandwidth);
}

void BenchLimit(benchmark::State& state, WeightType type) {
  Machine& machine = TheMachine();
  double gops = 0.0;
  for (auto _ : state) gops = PeakGops(machine.context, type);
  state.counters["GOPS"] = gops;
}

void BenchRead(benchmark::State& state) {
  Machine& machine = TheMachine();
  double rate = 0.0;
  for (auto _ : state) rate = machine.probe.GigabytesPerSecond(machine.context);
  state.counters["GB/s"] = rate;
}

void RegisterAll() {
  const auto add = [](const std::string& name, auto&& body) {
    auto* registered = benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond);
    registered->UseRealTime();
  };
  for (WeightType type : {WeightType::kF32, WeightType::kBf16, WeightType::kInt8}) {
    add("limit/" + std::string(WeightTypeName(type)),
        [type](benchmark::State& state) { BenchLimit(state, type); });
  }
  add("limit/read", BenchRead);
  for (const Shape& shape : ReadShapes(SACCADE_SHAPES)) {
    add(shape.name, [shape](benchmark::State& state) { BenchLinear(state, shape); });
  }
  for (int64_t patches : {784, 5828}) {
    add("vision_attention/bf16/" + std::to_string(patches),
        [patches](benchmark::State& state) { BenchVision(state, patches, true); });
  }
  for (KvType type : {KvType::kF32, KvType::kBf16, KvType::kInt8}) {
    for (int page : {64, 256}) {
      const std::string suffix = std::string(KvTypeName(type)) + "/page" + std::to_string(page);
      add("paged_attention/decode8x2000/" + suffix,
          [type, page](benchmark::State& state) { BenchPaged(state, type, page, 8, 2000, 1); });
      add("paged_attention/prefill256past1000/" + suffix,
          [type, page](benchmark::State& state) { BenchPaged(state, type, page, 1, 1000, 256); });
    }
  }
}

}  // namespace
}  // namespace saccade

int main(int argc, char** argv) {
  saccade::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
