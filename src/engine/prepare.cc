#include "engine/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace saccade {
namespace {

Status NamePicture(Status status, size_t index) {
  return std::move(status).WithParam(fmt::format("pictures[{}]", index));
}

std::span<const std::byte> BytesOf(const PictureInput& picture) { return std::span(*picture.bytes); }

// Image tokens of every picture from the headers alone, so that a prompt that is too long is refused before
// any pixel is decoded.
Result<std::vector<int64_t>> PlanTokens(const Checkpoint& checkpoint, const ChatInput& input) {
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < input.pictures.size(); ++i) {
    Result<ImageInfo> info = ProbeImage(BytesOf(input.pictures[i]));
    if (!info.ok()) return NamePicture(std::move(info).status(), i);
    Result<Size> size = PlannedSize(*info, checkpoint.preprocessor, input.pictures[i].limits);
    if (!size.ok()) return NamePicture(std::move(size).status(), i);
    tokens.push_back(ImageTokens(*size, checkpoint.preprocessor));
  }
  return tokens;
}

Result<std::vector<int32_t>> EncodeText(const Checkpoint& checkpoint, const ChatInput& input) {
  const RenderedPrompt prompt = RenderChat(input.conversation);
  if (prompt.videos > 0)
    return Unsupported("videos are not supported yet; send single pictures").WithParam("messages");
  if (static_cast<size_t>(prompt.images) != input.pictures.size()) {
    return Internal("the conversation shows {} pictures but {} came with it", prompt.images,
                    input.pictures.size());
  }
  return EncodePrompt(checkpoint.tokenizer, prompt);
}

Status CheckLength(int64_t needed, int64_t image_tokens, int64_t context_tokens) {
  if (needed < context_tokens) return OkStatus();
  return InvalidArgument(
             "the prompt needs {} tokens ({} of them for pictures) and leaves no room for an answer in the "
             "{} available; "
             "send fewer or smaller pictures, or lower max_pixels",
             needed, image_tokens, context_tokens)
      .WithParam("messages");
}

// The key under which a picture is cached.
Sha256Digest ScopedDigest(const std::string& scope, const Sha256Digest& picture) {
  if (scope.empty()) return picture;
  const Sha256Digest name = Sha256Of(scope);
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(name)));
  hash.Update(std::as_bytes(std::span(picture)));
  return hash.Finish();
}

Status PreparePictures(const Checkpoint& checkpoint, const ChatInput& input, PreparedRequest& request) {
  for (size_t i = 0; i < input.pictures.size(); ++i) {
    Result<PreparedPicture> picture =
        PreparePicture(BytesOf(input.pictures[i]), checkpoint.preprocessor, {}, input.pictures[i].limits);
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
  SACCADE_ASSIGN_OR_RETURN(const std::vector<int32_t> text, EncodeText(checkpoint, input));
  SACCADE_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, PlanTokens(checkpoint, input));
  for (int64_t count : counts) request->image_tokens += count;
  const int64_t needed =
      static_cast<int64_t>(text.size()) - static_cast<int64_t>(counts.size()) + request->image_tokens;
  SACCADE_RETURN_IF_ERROR(CheckLength(needed, request->image_tokens, context_tokens));
  SACCADE_RETURN_IF_ERROR(PreparePictures(checkpoint, input, *request));

  const int32_t image_token = checkpoint.model->config().image_token;
  SACCADE_ASSIGN_OR_RETURN(request->prompt, ExpandImages(text, image_token, counts));
  request->image_starts = FindStarts(request->prompt, image_token, counts);
  SACCADE_ASSIGN_OR_RETURN(request->positions,
                           ComputePositions(request->prompt, image_token, request->grids,
                                            checkpoint.model->config().vision.merge_size));
  const int64_t room = context_tokens - needed;
  request->max_tokens = input.options.max_tokens ? std::min<int64_t>(*input.options.max_tokens, room) : room;
  request->ignore_eos = input.options.ignore_eos;
  request->top_logprobs = input.options.top_logprobs;
  request->priority = input.priority;
  request->user = input.user;
  request->cache_scope = input.cache_scope;
  return request;
}

}  // namespace saccade
