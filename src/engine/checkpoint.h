// A loaded checkpoint folder: model, tokenizer, template, picture rules and sampling defaults. Immutable.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "image/image.h"
#include "model/model.h"
#include "text/text.h"

namespace saccade {

// Thread-safe after loading: nothing changes any more.
struct Checkpoint {
  std::string name;              // the folder's or file's name, what the API reports as model id
  std::filesystem::path source;  // the checkpoint folder or weight file
  std::unique_ptr<const Model> model;
  Tokenizer tokenizer;
  bool template_known = true;  // false: the checkpoint has another chat template than the published one
  std::string template_note;   // what to tell the user when it is not known
  PreprocessorConfig preprocessor;
  SamplingParams sampling;  // from generation_config.json; greedy when it says do_sample: false
  std::vector<int32_t> end_ids;
  int64_t context_tokens = 0;
  double load_ms = 0;

  static Result<std::shared_ptr<const Checkpoint>> Load(const std::filesystem::path& source,
                                                        const WeightOptions& options, ThreadPool& pool);
};

}  // namespace saccade
