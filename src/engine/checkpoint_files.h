// The small JSON files of a checkpoint beside config.json.
#pragma once

#include <cstdint>
#include <vector>

#include "base/file_set.h"
#include "base/status.h"
#include "image/image.h"
#include "text/text.h"

namespace saccade {

// preprocessor_config.json, or the image_processor part of processor_config.json when it stands alone. Sizes
// are spelled {"shortest_edge", "longest_edge"} (new) or min_pixels / max_pixels (old).
Result<PreprocessorConfig> LoadPreprocessorConfig(const FileSet& files);

// generation_config.json: how answers are sampled unless a request says otherwise, and which tokens end them.
struct GenerationDefaults {
  SamplingParams sampling;       // greedy (temperature 0) when do_sample is false or the file is missing
  std::vector<int32_t> end_ids;  // empty when the file names none
};
Result<GenerationDefaults> LoadGenerationDefaults(const FileSet& files, int64_t vocab);

// model_max_length and the end token of tokenizer_config.json, when given.
struct TokenizerConfig {
  int64_t max_length = 0;  // 0: not given
  std::string end_token;   // empty: not given
};
Result<TokenizerConfig> LoadTokenizerConfig(const FileSet& files);

}  // namespace saccade
