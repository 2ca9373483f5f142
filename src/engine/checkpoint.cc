#include "engine/checkpoint.h"

#include <algorithm>
#include <chrono>

#include "base/stopwatch.h"
#include "engine/checkpoint_files.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;

// The parts must belong together: a folder mixed from two checkpoints is refused here instead of answering
// nonsense.
Status CheckParts(const Checkpoint& checkpoint, const ModelConfig& config) {
  const PreprocessorConfig& pictures = checkpoint.preprocessor;
  if (pictures.patch_size != config.vision.patch_size || pictures.merge_size != config.vision.merge_size ||
      pictures.temporal_patch_size != config.vision.temporal_patch_size) {
    return InvalidArgument(
        "preprocessor_config.json cuts pictures into patches of {} merged by {}, but config.json expects {} "
        "merged by {}",
        pictures.patch_size, pictures.merge_size, config.vision.patch_size, config.vision.merge_size);
  }
  if (checkpoint.tokenizer.vocab_size() > config.text.vocab) {
    return InvalidArgument("tokenizer.json has {} tokens but config.json only {}",
                           checkpoint.tokenizer.vocab_size(), config.text.vocab);
  }
  SACCADE_ASSIGN_OR_RETURN(const ChatMarks marks, FindChatMarks(checkpoint.tokenizer));
  if (marks.image_pad != config.image_token) {
    return InvalidArgument("image_token_id is {} in config.json but <|image_pad|> is {} in tokenizer.json",
                           config.image_token, marks.image_pad);
  }
  return OkStatus();
}

Status NoteTemplate(Checkpoint& checkpoint, const FileSet& files) {
  SACCADE_ASSIGN_OR_RETURN(const TemplateInfo info, RecogniseTemplate(files));
  checkpoint.template_known = info.known();
  if (!info.known()) checkpoint.template_note = info.note;
  return OkStatus();
}

void ChooseEndIds(Checkpoint& checkpoint, const GenerationDefaults& defaults,
                  const TokenizerConfig& tokenizer_config) {
  checkpoint.end_ids = defaults.end_ids;
  if (!checkpoint.end_ids.empty()) return;
  for (const std::string& token :
       {tokenizer_config.end_token, std::string("<|im_end|>"), std::string("<|endoftext|>")}) {
    if (token.empty()) continue;
    if (const auto id = checkpoint.tokenizer.IdOf(token)) checkpoint.end_ids.push_back(*id);
  }
}

// Everything but the weights.
Status LoadSmallParts(Checkpoint& checkpoint, const FileSet& files, const ModelConfig& config) {
  constexpr size_t kMaxTokenizerBytes = size_t{64} << 20;
  SACCADE_ASSIGN_OR_RETURN(const std::string tokenizer, files.Read("tokenizer.json", kMaxTokenizerBytes));
  Result<Tokenizer> parsed = Tokenizer::Parse(tokenizer);
  if (!parsed.ok()) return std::move(parsed).status().WithContext(files.Where("tokenizer.json"));
  checkpoint.tokenizer = std::move(parsed).value();
  SACCADE_ASSIGN_OR_RETURN(checkpoint.preprocessor, LoadPreprocessorConfig(files));
  SACCADE_ASSIGN_OR_RETURN(const GenerationDefaults defaults,
                           LoadGenerationDefaults(files, config.text.vocab));
  SACCADE_ASSIGN_OR_RETURN(const TokenizerConfig tokenizer_config, LoadTokenizerConfig(files));
  SACCADE_RETURN_IF_ERROR(CheckParts(checkpoint, config));
  SACCADE_RETURN_IF_ERROR(NoteTemplate(checkpoint, files));
  checkpoint.sampling = defaults.sampling;
  ChooseEndIds(checkpoint, defaults, tokenizer_config);
  checkpoint.context_tokens = config.text.max_positions;
  if (tokenizer_config.max_length > 0) {
    checkpoint.context_tokens = std::min(checkpoint.context_tokens, tokenizer_config.max_length);
  }
  return OkStatus();
}

std::string NameOf(const fs::path& source) {
  fs::path path = fs::absolute(source).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.extension() == ".saccade" ? path.stem().string() : path.filename().string();
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> Checkpoint::Load(const fs::path& source,
                                                           const WeightOptions& options, ThreadPool& pool) {
  const auto start = std::chrono::steady_clock::now();
  SACCADE_ASSIGN_OR_RETURN(const Isa isa, SelectIsa());
  KernelContext context(pool, isa);
  auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->source = source;
  checkpoint->name = NameOf(source);
  std::error_code ignored;
  const bool is_file = fs::is_regular_file(source, ignored);
  if (!is_file) {
    // The small files first: what is wrong with them is known before gigabytes are read.
    const FolderFiles files(source);
    SACCADE_ASSIGN_OR_RETURN(const ModelConfig config, LoadModelConfig(files));
    SACCADE_RETURN_IF_ERROR(LoadSmallParts(*checkpoint, files, config));
  }
  SACCADE_ASSIGN_OR_RETURN(checkpoint->model, Model::Load(source, options, context));
  const Model& model = *checkpoint->model;
  if (is_file) SACCADE_RETURN_IF_ERROR(LoadSmallParts(*checkpoint, model.files(), model.config()));
  checkpoint->load_ms = MillisecondsSince(start);
  return std::shared_ptr<const Checkpoint>(std::move(checkpoint));
}

}  // namespace saccade
