#include "engine/prepare.h"

#include <algorithm>
#include <random>

#include "engine/prompt_plan.h"

namespace saccade {
namespace {

// The key under which a picture is cached.
Sha256Digest ScopedDigest(const std::string& scope, const Sha256Digest& picture) {
  if (scope.empty()) return picture;
  const Sha256Digest name = Sha256Of(scope);
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(name)));
  hash.Update(std::as_bytes(std::span(picture)));
  return hash.Finish();
}

Status PreparePictures(const Checkpoint& checkpoint, const ChatInput& input, const PromptPlan& plan,
                       PreparedRequest& request) {
  for (size_t i = 0; i < input.pictures.size(); ++i) {
    Result<PreparedPicture> picture =
        PreparePicture(BytesOf(input.pictures[i]), checkpoint.preprocessor, {}, plan.pictures[i].limits);
    if (!picture.ok()) return NamePicture(std::move(picture).status(), i);
    request.timings.decode_image += picture->timings.decode_ms;
    request.timings.resize += picture->timings.resize_ms;
    request.grids.push_back({picture->grid.grid_t, picture->grid.grid_h, picture->grid.grid_w});
    request.digests.push_back(ScopedDigest(input.cache_scope, PictureDigest(picture->grid)));
    request.pictures.push_back(std::move(picture->grid));
  }
  return OkStatus();
}

// Where the image tokens of every picture start.
std::vector<int64_t> FindStarts(const std::vector<int32_t>& prompt, int32_t image_token,
                                const std::vector<int64_t>& counts) {
  std::vector<int64_t> starts;
  auto position = prompt.begin();
  for (int64_t count : counts) {
    position = std::find(position, prompt.end(), image_token);
    starts.push_back(position - prompt.begin());
    position += count;
  }
  return starts;
}

SamplingParams ResolveSampling(const SamplingParams& defaults, const GenerationOptions& options) {
  SamplingParams sampling = defaults;
  const auto set = [](auto& target, const auto& value) {
    if (value) target = *value;
  };
  set(sampling.temperature, options.temperature);
  set(sampling.top_p, options.top_p);
  set(sampling.min_p, options.min_p);
  set(sampling.top_k, options.top_k);
  set(sampling.repetition_penalty, options.repetition_penalty);
  set(sampling.presence_penalty, options.presence_penalty);
  set(sampling.frequency_penalty, options.frequency_penalty);
  sampling.seed =
      options.seed ? *options.seed : (uint64_t{std::random_device{}()} << 32) ^ std::random_device{}();
  return sampling;
}

}  // namespace

Result<std::shared_ptr<PreparedRequest>> PrepareRequest(const Checkpoint& checkpoint, const ChatInput& input,
                                                        int64_t context_tokens) {
  auto request = std::make_shared<PreparedRequest>();
  request->sampling = ResolveSampling(checkpoint.sampling, input.options);
  SACCADE_RETURN_IF_ERROR(request->sampling.Validate());
  SACCADE_ASSIGN_OR_RETURN(request->stop, StopMatcher::Make(input.options.stop));
  SACCADE_ASSIGN_OR_RETURN(const PromptPlan plan, PlanPrompt(checkpoint, input, context_tokens));
  request->image_tokens = plan.image_tokens;
  std::vector<int64_t> counts;
  for (const PicturePlan& picture : plan.pictures) counts.push_back(picture.tokens);
  SACCADE_RETURN_IF_ERROR(PreparePictures(checkpoint, input, plan, *request));

  const int32_t image_token = checkpoint.model->config().image_token;
  SACCADE_ASSIGN_OR_RETURN(request->prompt, ExpandImages(plan.text, image_token, counts));
  request->image_starts = FindStarts(request->prompt, image_token, counts);
  SACCADE_ASSIGN_OR_RETURN(request->positions,
                           ComputePositions(request->prompt, image_token, request->grids,
                                            checkpoint.model->config().vision.merge_size));
  request->max_tokens = plan.max_tokens;
  request->ignore_eos = input.options.ignore_eos;
  request->top_logprobs = input.options.top_logprobs;
  request->priority = input.priority;
  request->user = input.user;
  request->cache_scope = input.cache_scope;
  return request;
}

}  // namespace saccade
