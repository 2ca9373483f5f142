#include "model/config.h"

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;

Json TinyConfig() {
  std::ifstream file(std::filesystem::path(SACCADE_TEST_DATA) / "golden/tiny-dense/config.json");
  return Json::parse(file);
}

TEST(ModelConfig, ReadsTheNewSpelling) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(TinyConfig().dump()));
  EXPECT_EQ(config.text.hidden, 96);
  EXPECT_EQ(config.text.head_dim, 32);
  EXPECT_EQ(config.text.rope_theta, 5000000);
  EXPECT_TRUE(config.text.tied_head);
  EXPECT_EQ(config.vision.head_dim(), 20);
  EXPECT_EQ(config.vision.grid_side, 8);
  EXPECT_EQ(config.vision.deepstack_layers, (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(config.image_token, 912);
}

TEST(ModelConfig, ReadsTheOldSpelling) {
  Json json = TinyConfig();
  Json& text = json["text_config"];
  text["rope_scaling"] = {
      {"rope_type", "default"}, {"mrope_interleaved", true}, {"mrope_section", {6, 5, 5}}};
  text["rope_theta"] = 123456;
  text.erase("rope_parameters");
  text.erase("tie_word_embeddings");
  json["vision_config"].erase("rope_parameters");
  SACCADE_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(json.dump()));
  EXPECT_EQ(config.text.rope_theta, 123456);
  EXPECT_TRUE(config.text.tied_head);  // from the top level
  EXPECT_EQ(config.vision.rope_theta, 10000);
}

TEST(ModelConfig, CountsTheWeightsOfThePublished2B) {
  const Json json = {{"model_type", "qwen3_vl"},
                     {"image_token_id", 10},
                     {"video_token_id", 11},
                     {"vision_start_token_id", 12},
                     {"vision_end_token_id", 13},
                     {"tie_word_embeddings", true},
                     {"text_config",
                      {{"vocab_size", 151936},
                       {"hidden_size", 2048},
                       {"intermediate_size", 6144},
                       {"num_hidden_layers", 28},
                       {"num_attention_heads", 16},
                       {"num_key_value_heads", 8},
                       {"head_dim", 128},
                       {"rms_norm_eps", 1e-6},
                       {"rope_theta", 5000000},
                       {"rope_scaling", {{"mrope_section", {24, 20, 20}}, {"rope_type", "default"}}}}},
                     {"vision_config",
                      {{"depth", 24},
                       {"hidden_size", 1024},
                       {"intermediate_size", 4096},
                       {"num_heads", 16},
                       {"out_hidden_size", 2048},
                       {"num_position_embeddings", 2304},
                       {"deepstack_visual_indexes", {5, 11, 17}}}}};
  SACCADE_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(json.dump()));
  EXPECT_EQ(config.TextParameters() + config.VisionParameters(), 2'127'532'032);
}

TEST(ModelConfig, RefusesWhatItCannotRun) {
  const auto with = [](const std::string& pointer, Json value) {
    Json json = TinyConfig();
    json[Json::json_pointer(pointer)] = std::move(value);
    return ParseModelConfig(json.dump());
  };
  EXPECT_THAT(with("/model_type", "qwen3_vl_moe"),
              FailsWith(StatusCode::kUnsupported, HasSubstr("mixture-of-experts")));
  EXPECT_THAT(with("/model_type", "llama"), FailsWith(StatusCode::kUnsupported, HasSubstr("llama")));
  EXPECT_THAT(with("/text_config/hidden_size", -4),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("text_config.hidden_size")));
  EXPECT_THAT(with("/text_config/hidden_size", nullptr),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("missing")));
  EXPECT_THAT(with("/text_config/hidden_size", 97),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("out_hidden_size")));
  EXPECT_THAT(with("/text_config/num_key_value_heads", 3),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("multiple")));
  EXPECT_THAT(with("/text_config/attention_bias", true),
              FailsWith(StatusCode::kUnsupported, HasSubstr("attention_bias")));
  EXPECT_THAT(with("/text_config/rope_parameters/mrope_section", Json{1, 2, 3}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("head_dim / 2 = 16")));
  EXPECT_THAT(with("/vision_config/num_position_embeddings", 65),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("square")));
  EXPECT_THAT(with("/vision_config/deepstack_visual_indexes", Json{0, 9}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("depth 4")));
  EXPECT_THAT(with("/vision_config/num_heads", 7),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("num_heads")));
  EXPECT_THAT(with("/image_token_id", 100000),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("image_token_id")));
  EXPECT_THAT(ParseModelConfig("{"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("")));
}

}  // namespace
}  // namespace saccade
