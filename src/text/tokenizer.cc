#include "text/tokenizer.h"

#include <algorithm>

#include "base/file.h"
#include "base/utf8.h"

namespace saccade {
namespace {

constexpr size_t kMaxFileBytes = size_t{256} << 20;

// Refuses the BPE variants that byte-level vocabularies do not use.
Status CheckModel(const Json& model) {
  SACCADE_ASSIGN_OR_RETURN(const std::string type, GetStringOr(model, "type", "BPE"));
  if (type != "BPE") return Unsupported("tokenizer model \"{}\" is not supported, only BPE is", type);
  SACCADE_ASSIGN_OR_RETURN(const double dropout, GetFloatOr(model, "dropout", 0));
  if (dropout != 0) return Unsupported("BPE dropout is not supported");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    SACCADE_ASSIGN_OR_RETURN(const std::string value, GetStringOr(model, affix, ""));
    if (!value.empty()) return Unsupported("{} is not supported", affix);
  }
  SACCADE_ASSIGN_OR_RETURN(const bool byte_fallback, GetBoolOr(model, "byte_fallback", false));
  if (byte_fallback) return Unsupported("byte_fallback is not supported");
  return OkStatus();
}

// A step that must be ByteLevel, or may be missing.
Status CheckByteLevel(const Json& file, const char* step, bool required) {
  SACCADE_ASSIGN_OR_RETURN(const Json* description, FindObject(file, step));
  if (description == nullptr)
    return required ? Unsupported("no {} is given; ByteLevel is needed", step) : OkStatus();
  SACCADE_ASSIGN_OR_RETURN(const std::string type, GetString(*description, "type"));
  if (type != "ByteLevel") return Unsupported("{} \"{}\" is not supported, only ByteLevel is", step, type);
  return OkStatus();
}

const Json& MemberOrNull(const Json& object, const char* key) {
  static const Json kNull;
  const auto member = object.find(key);
  return member == object.end() ? kNull : *member;
}

}  // namespace

Status Tokenizer::SetVocabulary(const TokenizerFile& file) {
  if (file.vocab.empty()) return InvalidArgument("model.vocab is missing or empty");
  for (const TokenizerFile::Token& token : file.vocab) {
    SACCADE_RETURN_IF_ERROR(vocabulary_.Add(token.id, file.Bytes(token.bytes)));
  }
  return bpe_.SetBytes(vocabulary_);
}

Status Tokenizer::SetMerges(const TokenizerFile& file) {
  bpe_.Reserve(file.merges.size());
  std::string joined;
  for (size_t i = 0; i < file.merges.size(); ++i) {
    const std::string_view left = file.Bytes(file.merges[i].first);
    const std::string_view right = file.Bytes(file.merges[i].second);
    joined.assign(left).append(right);
    const auto left_id = vocabulary_.Find(left), right_id = vocabulary_.Find(right);
    const auto merged_id = vocabulary_.Find(joined);
    if (!left_id || !right_id || !merged_id) {
      return InvalidArgument("model.merges[{}]: one of the two tokens or their union is not in model.vocab",
                             i);
    }
    bpe_.AddMerge(*left_id, *right_id, *merged_id);
  }
  return OkStatus();
}

Status Tokenizer::SetAddedTokens(const Json& list) {
  std::vector<AddedTokenFinder::Token> all, non_special;
  for (const Json& entry : list) {
    SACCADE_ASSIGN_OR_RETURN(const int64_t id,
                             GetInt(entry, "id", {.min = 0, .max = Vocabulary::kMaxId - 1}));
    SACCADE_ASSIGN_OR_RETURN(const std::string content, GetString(entry, "content"));
    SACCADE_ASSIGN_OR_RETURN(const bool special, GetBoolOr(entry, "special", false));
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
      SACCADE_ASSIGN_OR_RETURN(const bool set, GetBoolOr(entry, flag, false));
      if (set) return Unsupported("added token \"{}\": {} is not supported", content, flag);
    }
    SACCADE_ASSIGN_OR_RETURN(const bool normalized, GetBoolOr(entry, "normalized", false));
    // A normalised token is looked for in the normalised text. For ASCII spellings the raw text gives the
    // same matches, except right before a combining mark that changes the token's last character.
    const bool ascii = std::all_of(content.begin(), content.end(), [](char c) { return (c & 0x80) == 0; });
    if (normalized && normalization_ != Normalization::kNone && !ascii) {
      return Unsupported("added token \"{}\": normalized is supported for ASCII only", content);
    }
    SACCADE_RETURN_IF_ERROR(
        vocabulary_.Add(id, content).WithContext(fmt::format("added token \"{}\"", content)));
    special_.resize(std::max(special_.size(), static_cast<size_t>(id) + 1));
    special_[static_cast<size_t>(id)] = special;
    all.push_back({content, static_cast<int32_t>(id)});
    if (!special) non_special.push_back({content, static_cast<int32_t>(id)});
  }
  all_added_ = AddedTokenFinder(std::move(all));
  non_special_added_ = AddedTokenFinder(std::move(non_special));
  return OkStatus();
}

Result<Tokenizer> Tokenizer::Parse(std::string_view json_text) {
  SACCADE_ASSIGN_OR_RETURN(const TokenizerFile file, ParseTokenizerFile(json_text));
  SACCADE_ASSIGN_OR_RETURN(const Json* model, GetObject(file.rest, "model"));
  SACCADE_RETURN_IF_ERROR(CheckModel(*model));
  SACCADE_RETURN_IF_ERROR(CheckByteLevel(file.rest, "decoder", true));
  SACCADE_RETURN_IF_ERROR(CheckByteLevel(file.rest, "post_processor", false));
  Tokenizer tokenizer;
  SACCADE_ASSIGN_OR_RETURN(tokenizer.ignore_merges_, GetBoolOr(*model, "ignore_merges", false));
  SACCADE_ASSIGN_OR_RETURN(tokenizer.normalization_, ParseNormalizer(MemberOrNull(file.rest, "normalizer")));
  SACCADE_ASSIGN_OR_RETURN(tokenizer.pre_tokenizer_,
                           PreTokenizer::Parse(MemberOrNull(file.rest, "pre_tokenizer")));
  SACCADE_RETURN_IF_ERROR(tokenizer.SetVocabulary(file));
  SACCADE_RETURN_IF_ERROR(tokenizer.SetMerges(file));
  SACCADE_ASSIGN_OR_RETURN(const Json* added, FindArray(file.rest, "added_tokens"));
  if (added != nullptr) SACCADE_RETURN_IF_ERROR(tokenizer.SetAddedTokens(*added));
  return tokenizer;
}

Result<Tokenizer> Tokenizer::Load(const std::filesystem::path& path) {
  SACCADE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  auto tokenizer = Parse(text);
  if (!tokenizer.ok()) return std::move(tokenizer).status().WithContext(path.string());
  return tokenizer;
}

void Tokenizer::EncodePiece(std::string_view piece, std::vector<int32_t>& out) const {
  if (ignore_merges_) {
    if (const auto whole = vocabulary_.Find(piece); whole.has_value()) return out.push_back(*whole);
  }
  bpe_.Encode(piece, out);
}

// Text without added tokens, valid UTF-8.
void Tokenizer::EncodeText(std::string_view text, std::vector<int32_t>& out) const {
  std::string normalised;
  if (normalization_ == Normalization::kNfc && !IsSurelyNfc(text)) {
    normalised = ToNfc(text);
    text = normalised;
  }
  pre_tokenizer_.Split(text, [&](std::string_view piece) { EncodePiece(piece, out); });
}

std::optional<AddedTokenMatch> Tokenizer::FindAddedToken(std::string_view text, size_t from,
                                                         AddedTokens recognise) const {
  switch (recognise) {
    case AddedTokens::kNone:
      return std::nullopt;
    case AddedTokens::kNonSpecial:
      return non_special_added_.Find(text, from);
    case AddedTokens::kAll:
      return all_added_.Find(text, from);
  }
  return std::nullopt;
}

void Tokenizer::Encode(std::string_view text, AddedTokens recognise, std::vector<int32_t>& out) const {
  if (vocabulary_.size() == 0) return;
  std::string repaired;
  if (!IsValidUtf8(text)) {
    repaired = ReplaceInvalidUtf8(text);
    text = repaired;
  }
  size_t done = 0;
  while (const auto match = FindAddedToken(text, done, recognise)) {
    EncodeText(text.substr(done, match->begin - done), out);
    out.push_back(match->id);
    done = match->end;
  }
  EncodeText(text.substr(done), out);
}

std::string Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (!skip_special || !IsSpecial(id)) bytes += TokenBytes(id);
  }
  return IsValidUtf8(bytes) ? bytes : ReplaceInvalidUtf8(bytes);
}

}  // namespace saccade
