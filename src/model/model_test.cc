// The whole model against tensors of the reference implementation, from token ids and pixels on. The
// integration tests repeat this from files and text on; here the layers below the model are the only ones
// involved.
#include "model/model.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "base/status_testing.h"
#include "tensor/safetensors.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;

constexpr int kPageTokens = 16;

struct Golden {
  MmapFile file;
  std::map<std::string, TensorView> tensors;
  bool Has(const std::string& name) const { return tensors.count(name) != 0; }
  std::vector<float> Floats(const std::string& name) const { return ToFloats(tensors.at(name)); }
  std::vector<int32_t> Ints(const std::string& name) const {
    const TensorView& view = tensors.at(name);
    std::vector<int32_t> values(static_cast<size_t>(view.elements()));
    std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
    return values;
  }
};

Golden LoadGolden(const fs::path& path) {
  Golden golden;
  Result<MmapFile> file = MmapFile::Open(path);
  EXPECT_TRUE(file.ok()) << path;
  golden.file = std::move(file).value();
  golden.tensors = ParseSafetensors(golden.file.bytes()).value();
  return golden;
}

// Largest error over largest magnitude.
double RelativeError(std::span<const float> actual, std::span<const float> expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double error = 0, magnitude = 0;
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    if (!(std::abs(actual[i] - expected[i]) <= error)) error = std::abs(actual[i] - expected[i]);
    magnitude = std::max(magnitude, std::abs(double{expected[i]}));
  }
  return error / magnitude;
}

// One sequence with its own little KV cache.
class Runner {
 public:
  Runner(const Model& model, KernelContext& context, KvType kv, int64_t max_tokens)
      : model_(model), context_(context) {
    const TextConfig& text = model.config().text;
    cache_.layout = {kv, text.kv_heads, text.head_dim, kPageTokens};
    cache_.layer_stride = cache_.layout.PageBytes();
    cache_.page_stride = cache_.layer_stride * static_cast<size_t>(text.layers);
    const auto pages = static_cast<int32_t>((max_tokens + kPageTokens - 1) / kPageTokens);
    memory_ = AlignedBuffer(cache_.page_stride * static_cast<size_t>(pages));
    cache_.base = memory_.data();
    for (int32_t page = pages - 1; page >= 0; --page)
      pages_.push_back(page);  // not in order: ids, not offsets
  }

  // Runs tokens [past, past + count) and returns the logits of the last `wanted` rows.
  std::vector<float> Run(std::span<const int32_t> tokens, const PromptPositions& positions, int64_t past,
                         int64_t count, std::span<const ImageRows> images, int64_t wanted,
                         const HiddenTrace& trace = {}) {
    const auto part = [&](const std::vector<int32_t>& values) {
      return std::span(values).subspan(static_cast<size_t>(past), static_cast<size_t>(count));
    };
    const SequenceRows sequence = {0, count, past, pages_};
    std::vector<int64_t> logit_rows;
    for (int64_t row = count - wanted; row < count; ++row) logit_rows.push_back(row);
    TextBatch batch;
    batch.tokens = tokens.subspan(static_cast<size_t>(past), static_cast<size_t>(count));
    batch.position_t = part(positions.t);
    batch.position_h = part(positions.h);
    batch.position_w = part(positions.w);
    batch.sequences = std::span(&sequence, 1);
    batch.images = images;
    batch.logit_rows = logit_rows;
    std::vector<float> logits(static_cast<size_t>(wanted * model_.config().text.vocab));
    SACCADE_EXPECT_OK(model_.text().Forward(context_, cache_, batch, scratch_, logits.data(), trace));
    return logits;
  }

 private:
  const Model& model_;
  KernelContext& context_;
  KvCacheView cache_;
  AlignedBuffer memory_;
  std::vector<int32_t> pages_;
  TextScratch scratch_;
};

struct Precision {
  WeightType weights;
  KvType kv;
  double tolerance;  // of the acceptance lines: 1e-4 in float32, 2e-2 with bf16 compute
};

struct Case {
  std::string checkpoint, conversation;
  Precision precision;
  Isa isa;
  int threads;
};

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string name = c.checkpoint + "_" + c.conversation + "_" +
                     std::string(WeightTypeName(c.precision.weights)) + "_" + std::string(IsaName(c.isa)) +
                     "_" + std::to_string(c.threads);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// GoogleTest prints parameters; the bytes of a struct help nobody.
void PrintTo(const Case& c, std::ostream* out) { *out << c.checkpoint << " " << c.conversation; }

std::vector<Case> AllCases(std::initializer_list<int> thread_counts) {
  std::vector<Case> cases;
  for (const char* checkpoint : {"tiny-dense", "tiny-untied"}) {
    for (const char* conversation : {"text_only", "one_image"}) {
      for (const Precision& precision : {Precision{WeightType::kF32, KvType::kF32, 1e-4},
                                         Precision{WeightType::kBf16, KvType::kBf16, 2e-2}}) {
        for (Isa isa : UsableIsas()) {
          for (int threads : thread_counts)
            cases.push_back({checkpoint, conversation, precision, isa, threads});
        }
      }
    }
  }
  return cases;
}

class ModelGolden : public ::testing::TestWithParam<Case> {
 protected:
  ModelGolden() : pool_(GetParam().threads), context_(pool_, GetParam().isa) {
    const fs::path folder = fs::path(SACCADE_TEST_DATA) / "golden" / GetParam().checkpoint;
    Result<std::unique_ptr<const Model>> model =
        Model::Load(folder, {{GetParam().precision.weights, GetParam().precision.weights}}, context_);
    EXPECT_TRUE(model.ok()) << model.status().ToString();
    model_ = std::move(model).value();
    golden_ = LoadGolden(folder / ("golden_" + GetParam().conversation + ".safetensors"));
  }

  // The reference's pixel values back to bytes: (v * 0.5 + 0.5) * 255, one of the two equal frames.
  ImageFeatures Encode() {
    const VisionConfig& vision = model_->config().vision;
    const std::vector<float> pixels = golden_.Floats("pixel_values");
    const std::vector<int32_t> thw = golden_.Ints("image_grid_thw");
    const GridThw grid = {thw[0], thw[1], thw[2]};
    const int64_t area = int64_t{vision.patch_size} * vision.patch_size;
    std::vector<uint8_t> bytes;
    for (int64_t row = 0; row < grid.patches() * 3; ++row) {
      for (int64_t i = 0; i < area; ++i) {
        bytes.push_back(static_cast<uint8_t>(
            std::lround((pixels[static_cast<size_t>(row * 2 * area + i)] * 0.5F + 0.5F) * 255)));
      }
    }
    VisionPicture picture;
    picture.grid = grid;
    picture.patches = bytes;
    picture.scale.fill(1 / 127.5F);
    picture.offset.fill(-1);
    std::unique_ptr<VisionJob> job = model_->vision().Start({picture}).value();
    while (!job->done()) model_->vision().Step(context_, *job);
    return std::move(job->TakeFeatures()[0]);
  }

  // Rows of the prompt that a picture fills.
  std::vector<ImageRows> Images(std::span<const int32_t> tokens, const ImageFeatures& features) const {
    std::vector<ImageRows> images;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] == model_->config().image_token)
        return {{static_cast<int64_t>(i), features.tokens, 0, &features}};
    }
    return images;
  }

  ThreadPool pool_;
  KernelContext context_;
  std::unique_ptr<const Model> model_;
  Golden golden_;
};

TEST_P(ModelGolden, EveryStageEqualsTheReference) {
  const double tolerance = GetParam().precision.tolerance;
  const ModelConfig& config = model_->config();
  std::vector<int32_t> tokens = golden_.Ints("input_ids");
  ImageFeatures features;
  std::vector<GridThw> grids;
  if (golden_.Has("image_grid_thw")) {
    features = Encode();
    const std::vector<int32_t> thw = golden_.Ints("image_grid_thw");
    grids.push_back({thw[0], thw[1], thw[2]});
    EXPECT_LE(RelativeError(features.merged, golden_.Floats("vision.merged")), tolerance);
    for (size_t i = 0; i < features.deepstack.size(); ++i) {
      EXPECT_LE(RelativeError(features.deepstack[i], golden_.Floats("vision.deepstack." + std::to_string(i))),
                tolerance);
    }
  }
  SACCADE_ASSERT_OK_AND_ASSIGN(PromptPositions positions,
                               ComputePositions(tokens, config.image_token, grids, config.vision.merge_size));
  std::vector<int32_t> all = positions.t;
  all.insert(all.end(), positions.h.begin(), positions.h.end());
  all.insert(all.end(), positions.w.begin(), positions.w.end());
  EXPECT_EQ(all, golden_.Ints("position_ids"));
  EXPECT_EQ(positions.delta, golden_.Ints("rope_delta")[0]);

  const auto prompt = static_cast<int64_t>(tokens.size());
  Runner runner(*model_, context_, GetParam().precision.kv, prompt + 64);
  std::vector<float> first_layer, last_layer;
  const HiddenTrace trace = [&](int layers_done, const float* hidden, int64_t rows) {
    const float* end = hidden + rows * config.text.hidden;
    if (layers_done == 1) first_layer.assign(end - 8 * config.text.hidden, end);
    if (layers_done == config.text.layers + 1) last_layer.assign(end - 8 * config.text.hidden, end);
  };
  std::vector<float> logits = runner.Run(tokens, positions, 0, prompt, Images(tokens, features), 8, trace);
  EXPECT_LE(RelativeError(first_layer, golden_.Floats("hidden.1")), tolerance);
  EXPECT_LE(RelativeError(last_layer, golden_.Floats("hidden." + std::to_string(config.text.layers))),
            tolerance);
  EXPECT_LE(RelativeError(logits, golden_.Floats("logits")), tolerance);

  // Greedy decoding, equal up to the first step whose margin is smaller than the arithmetic can promise.
  const std::vector<int32_t> expected = golden_.Ints("greedy_ids");
  const std::vector<float> margins = golden_.Floats("greedy_margin");
  const double least_margin = GetParam().precision.weights == WeightType::kF32 ? 1e-3 : 0.5;
  for (size_t step = 0; step < expected.size() && margins[step] >= least_margin; ++step) {
    const float* row = logits.data() + logits.size() - static_cast<size_t>(config.text.vocab);
    const auto best = static_cast<int32_t>(std::max_element(row, row + config.text.vocab) - row);
    ASSERT_EQ(best, expected[step]) << "step " << step;
    const auto position = static_cast<int32_t>(tokens.size()) + positions.delta;
    tokens.push_back(best);
    for (std::vector<int32_t>* axis : {&positions.t, &positions.h, &positions.w}) axis->push_back(position);
    logits = runner.Run(tokens, positions, static_cast<int64_t>(tokens.size()) - 1, 1, {}, 1);
  }
}

// Prompt slices of any size give the logits of the whole prompt, pictures cut in the middle included.
class SlicedPrefill : public ModelGolden {};

TEST_P(SlicedPrefill, EqualsWhole) {
  const ModelConfig& config = model_->config();
  const std::vector<int32_t> tokens = golden_.Ints("input_ids");
  ImageFeatures features;
  std::vector<GridThw> grids;
  if (golden_.Has("image_grid_thw")) {
    features = Encode();
    const std::vector<int32_t> thw = golden_.Ints("image_grid_thw");
    grids.push_back({thw[0], thw[1], thw[2]});
  }
  SACCADE_ASSERT_OK_AND_ASSIGN(const PromptPositions positions,
                               ComputePositions(tokens, config.image_token, grids, config.vision.merge_size));
  const auto prompt = static_cast<int64_t>(tokens.size());
  const std::vector<ImageRows> whole = Images(tokens, features);
  for (int64_t slice : {1, 7, 16, 50}) {
    Runner runner(*model_, context_, GetParam().precision.kv, prompt);
    std::vector<float> logits;
    for (int64_t past = 0; past < prompt; past += slice) {
      const int64_t count = std::min(slice, prompt - past);
      std::vector<ImageRows> images;
      for (const ImageRows& image : whole) {
        const int64_t begin = std::max(past, image.first_row),
                      end = std::min(past + count, image.first_row + image.rows);
        if (begin < end)
          images.push_back({begin - past, end - begin, begin - image.first_row, image.features});
      }
      logits = runner.Run(tokens, positions, past, count, images, 1);
    }
    const std::vector<float> expected = golden_.Floats("logits");
    EXPECT_LE(RelativeError(logits, std::span(expected).last(logits.size())), GetParam().precision.tolerance)
        << slice;
  }
}

// However the work of a group of pictures is cut, the features are the same bit for bit.
class SlicedVision : public ModelGolden {};

TEST_P(SlicedVision, EqualsWhole) {
  const VisionConfig& vision = model_->config().vision;
  const auto patch_bytes = static_cast<size_t>(3 * vision.patch_size * vision.patch_size);
  std::vector<uint8_t> bytes(static_cast<size_t>(36 * 30 + 10 * 4) * patch_bytes);
  uint32_t state = 7;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  VisionPicture large, small;
  large.grid = {1, 36, 30};
  small.grid = {1, 10, 4};
  large.patches = std::span(bytes).first(36 * 30 * patch_bytes);
  small.patches = std::span(bytes).last(10 * 4 * patch_bytes);
  for (VisionPicture* picture : {&large, &small}) picture->scale.fill(1 / 127.5F);
  const auto encode = [&](double max_flops) {
    std::unique_ptr<VisionJob> job = model_->vision().Start({large, small, large}).value();
    int steps = 0;
    for (; !job->done(); ++steps) model_->vision().Step(context_, *job, max_flops);
    return std::pair(steps, job->TakeFeatures());
  };
  const auto [whole_steps, whole] = encode(std::numeric_limits<double>::infinity());
  for (double max_flops : {0.0, 2e7, 3e8}) {
    const auto [steps, features] = encode(max_flops);
    EXPECT_GT(steps, whole_steps);
    for (size_t i = 0; i < whole.size(); ++i) {
      ASSERT_EQ(features[i].merged, whole[i].merged) << max_flops;
      ASSERT_EQ(features[i].deepstack, whole[i].deepstack) << max_flops;
    }
  }
  EXPECT_EQ(whole[0].merged, whole[2].merged);
}

std::vector<Case> VisionCases() {
  std::vector<Case> cases;
  for (Isa isa : UsableIsas()) {
    if (isa == Isa::kScalar) continue;  // no paths of its own for few or many rows
    for (WeightType type : kAllWeightTypes) {
      cases.push_back({"tiny-untied", "one_image", {type, KvType::kF32, 0}, isa, 2});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, SlicedVision, ::testing::ValuesIn(VisionCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(All, ModelGolden, ::testing::ValuesIn(AllCases({1, 2})), CaseName);
INSTANTIATE_TEST_SUITE_P(All, SlicedPrefill, ::testing::ValuesIn(AllCases({2})), CaseName);

}  // namespace
}  // namespace saccade
