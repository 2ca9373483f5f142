#include "engine/trace.h"

#include <algorithm>
#include <cstring>

#include "engine/kv_pages.h"
#include "engine/prepare.h"
#include "tensor/safetensors.h"

namespace saccade {
namespace {

constexpr int64_t kTracedRows = 8;  // positions whose hidden states and logits the reference files hold
constexpr int kPageTokens = 64;

template <class T>
void Put(Trace& trace, const std::string& name, DType dtype, std::vector<int64_t> shape,
         std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  trace[name] = {dtype, std::move(shape), {bytes.begin(), bytes.end()}};
}

class Tracer {
 public:
  Tracer(const Checkpoint& checkpoint, const PreparedRequest& request, KernelContext& context)
      : checkpoint_(checkpoint), model_(*checkpoint.model), request_(request), context_(context) {}

  Result<Trace> Run(int64_t max_tokens, KvType kv) {
    PutInputs();
    SACCADE_RETURN_IF_ERROR(EncodePictures());
    const TextConfig& text = model_.config().text;
    const auto tokens = static_cast<int64_t>(request_.prompt.size()) + max_tokens;
    const KvLayout layout = {kv, text.kv_heads, text.head_dim, kPageTokens};
    SACCADE_ASSIGN_OR_RETURN(pool_,
                             KvPagePool::Make(layout, text.layers, (tokens + kPageTokens - 1) / kPageTokens));
    pool_->Grow(pages_, tokens);
    SACCADE_RETURN_IF_ERROR(Generate(max_tokens));
    return std::move(trace_);
  }

 private:
  void PutInputs() {
    const std::vector<int32_t>& prompt = request_.prompt;
    const auto tokens = static_cast<int64_t>(prompt.size());
    Put<int32_t>(trace_, "input_ids", DType::kI32, {tokens}, prompt);
    const PromptPositions& positions = request_.positions;
    std::vector<int32_t> all;
    for (const std::vector<int32_t>* axis : {&positions.t, &positions.h, &positions.w})
      all.insert(all.end(), axis->begin(), axis->end());
    Put<int32_t>(trace_, "position_ids", DType::kI32, {3, tokens}, all);
    Put<int32_t>(trace_, "rope_delta", DType::kI32, {1}, std::span(&positions.delta, 1));
    if (request_.pictures.empty()) return;
    std::vector<int32_t> grids;
    std::vector<float> pixels;
    int64_t row_width = 0;
    for (const PatchGrid& picture : request_.pictures) {
      grids.insert(grids.end(), {picture.grid_t, picture.grid_h, picture.grid_w});
      row_width =
          int64_t{3} * checkpoint_.preprocessor.temporal_patch_size * picture.patch_size * picture.patch_size;
      const size_t before = pixels.size();
      pixels.resize(before + static_cast<size_t>(picture.patch_count() * row_width));
      NormalisePatches(picture, checkpoint_.preprocessor, std::span(pixels).subspan(before));
    }
    Put<int32_t>(trace_, "image_grid_thw", DType::kI32, {static_cast<int64_t>(request_.pictures.size()), 3},
                 grids);
    Put<float>(trace_, "pixel_values", DType::kF32,
               {static_cast<int64_t>(pixels.size()) / row_width, row_width}, pixels);
  }

  Status EncodePictures() {
    if (request_.pictures.empty()) return OkStatus();
    const PixelTransform transform = MakePixelTransform(checkpoint_.preprocessor);
    std::vector<VisionPicture> pictures;
    for (size_t i = 0; i < request_.pictures.size(); ++i) {
      pictures.push_back(
          {request_.grids[i], request_.pictures[i].patches, transform.scale, transform.offset});
    }
    SACCADE_ASSIGN_OR_RETURN(const std::unique_ptr<VisionJob> job,
                             model_.vision().Start(std::move(pictures)));
    while (!job->done()) model_.vision().Step(context_, *job);
    features_ = job->TakeFeatures();
    PutFeatures("vision.merged", [](const ImageFeatures& features) { return std::span(features.merged); });
    for (size_t i = 0; i < features_.front().deepstack.size(); ++i) {
      PutFeatures("vision.deepstack." + std::to_string(i),
                  [i](const ImageFeatures& features) { return std::span(features.deepstack[i]); });
    }
    return OkStatus();
  }

  template <class Select>
  void PutFeatures(const std::string& name, Select&& select) {
    std::vector<float> all;
    for (const ImageFeatures& features : features_) {
      const auto part = select(features);
      all.insert(all.end(), part.begin(), part.end());
    }
    const int64_t width = model_.config().text.hidden;
    Put<float>(trace_, name, DType::kF32, {static_cast<int64_t>(all.size()) / width, width}, all);
  }

  // Appends the columns of tokens [computed, tokens) and runs them; logits of the last `wanted` rows.
  Status Forward(std::span<const int32_t> tokens, int64_t past, int64_t wanted,
                 std::span<const ImageRows> images, const HiddenTrace& trace) {
    const auto rows = static_cast<int64_t>(tokens.size());
    std::vector<int32_t> t, h, w;
    for (int64_t i = past; i < past + rows; ++i) {
      const auto index = static_cast<size_t>(i);
      const bool in_prompt = index < request_.prompt.size();
      const auto generated = static_cast<int32_t>(i) + request_.positions.delta;
      t.push_back(in_prompt ? request_.positions.t[index] : generated);
      h.push_back(in_prompt ? request_.positions.h[index] : generated);
      w.push_back(in_prompt ? request_.positions.w[index] : generated);
    }
    const SequenceRows sequence = {0, rows, past, pages_};
    std::vector<int64_t> logit_rows;
    for (int64_t row = rows - wanted; row < rows; ++row) logit_rows.push_back(row);
    TextBatch batch;
    batch.tokens = tokens;
    batch.position_t = t;
    batch.position_h = h;
    batch.position_w = w;
    batch.sequences = std::span(&sequence, 1);
    batch.images = images;
    batch.logit_rows = logit_rows;
    logits_.resize(static_cast<size_t>(wanted * model_.config().text.vocab));
    return model_.text().Forward(context_, pool_->view(), batch, scratch_, logits_.data(), trace);
  }

  Status Prefill() {
    std::vector<ImageRows> images;
    for (size_t i = 0; i < features_.size(); ++i) {
      images.push_back({request_.image_starts[i], features_[i].tokens, 0, &features_[i]});
    }
    const TextConfig& text = model_.config().text;
    const int64_t wanted = std::min<int64_t>(kTracedRows, static_cast<int64_t>(request_.prompt.size()));
    const HiddenTrace hidden = [&](int layers_done, const float* values, int64_t rows) {
      if (layers_done != 1 && layers_done != text.layers + 1) return;
      const std::string name = "hidden." + std::to_string(layers_done == 1 ? 1 : text.layers);
      const auto last =
          std::span(values + (rows - wanted) * text.hidden, static_cast<size_t>(wanted * text.hidden));
      Put<float>(trace_, name, DType::kF32, {wanted, text.hidden}, last);
    };
    SACCADE_RETURN_IF_ERROR(Forward(request_.prompt, 0, wanted, images, hidden));
    Put<float>(trace_, "logits", DType::kF32, {wanted, text.vocab}, logits_);
    return OkStatus();
  }

  Status Generate(int64_t max_tokens) {
    SACCADE_RETURN_IF_ERROR(Prefill());
    const auto vocab = static_cast<size_t>(model_.config().text.vocab);
    std::vector<int32_t> ids;
    std::vector<float> margins;
    auto past = static_cast<int64_t>(request_.prompt.size());
    while (static_cast<int64_t>(ids.size()) < max_tokens) {
      const auto row = std::span(logits_).last(vocab);
      const auto best = std::max_element(row.begin(), row.end());
      float second = -std::numeric_limits<float>::infinity();
      for (auto it = row.begin(); it != row.end(); ++it) {
        if (it != best) second = std::max(second, *it);
      }
      ids.push_back(static_cast<int32_t>(best - row.begin()));
      margins.push_back(*best - second);
      if (static_cast<int64_t>(ids.size()) < max_tokens) {
        SACCADE_RETURN_IF_ERROR(Forward(std::span(ids).last(1), past++, 1, {}, {}));
      }
    }
    Put<int32_t>(trace_, "greedy_ids", DType::kI32, {max_tokens}, ids);
    Put<float>(trace_, "greedy_margin", DType::kF32, {max_tokens}, margins);
    return OkStatus();
  }

  const Checkpoint& checkpoint_;
  const Model& model_;
  const PreparedRequest& request_;
  KernelContext& context_;
  Trace trace_;
  std::vector<ImageFeatures> features_;
  std::unique_ptr<KvPagePool> pool_;
  std::vector<int32_t> pages_;
  TextScratch scratch_;
  std::vector<float> logits_;
};

}  // namespace

Result<Trace> TraceConversation(const Checkpoint& checkpoint, const ChatInput& input, int64_t max_tokens,
                                KvType kv, KernelContext& context) {
  SACCADE_ASSIGN_OR_RETURN(const std::shared_ptr<PreparedRequest> request,
                           PrepareRequest(checkpoint, input, checkpoint.context_tokens));
  return Tracer(checkpoint, *request, context).Run(max_tokens, kv);
}

Status WriteTrace(const std::filesystem::path& path, const Trace& trace) {
  std::map<std::string, TensorView> views;
  for (const auto& [name, tensor] : trace) views[name] = {tensor.dtype, tensor.shape, tensor.bytes};
  return WriteSafetensors(path, views);
}

}  // namespace saccade
