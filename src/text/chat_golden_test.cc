// Prompts of the small checkpoints, pictures expanded, against the ids the reference fed to its model.
#include "base/file.h"
#include "base/status_testing.h"
#include "tensor/safetensors.h"
#include "text/chat_template.h"

namespace saccade {
namespace {

std::vector<int32_t> Integers(const std::map<std::string, TensorView>& tensors, const std::string& name) {
  const auto tensor = tensors.find(name);
  if (tensor == tensors.end()) return {};
  std::vector<int32_t> values(tensor->second.bytes.size() / sizeof(int32_t));
  std::copy_n(tensor->second.bytes.data(), values.size() * sizeof(int32_t),
              reinterpret_cast<std::byte*>(values.data()));
  return values;
}

class ChatGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(ChatGolden, IdsOfEveryCase) {
  const std::string directory = std::string(SACCADE_TEST_DATA "/golden/") + GetParam() + "/";
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::Load(directory + "tokenizer.json"));
  SACCADE_ASSERT_OK_AND_ASSIGN(const ChatMarks marks, FindChatMarks(tokenizer));
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(directory + "goldens.json", size_t{1} << 20));
  SACCADE_ASSERT_OK_AND_ASSIGN(const OrderedJson cases, ParseOrderedJson(text));
  EXPECT_GE(cases.size(), 5U);
  for (const auto& [name, golden] : cases.items()) {
    SCOPED_TRACE(name);
    SACCADE_ASSERT_OK_AND_ASSIGN(const std::string file,
                                 ReadFile(directory + "golden_" + name + ".safetensors", size_t{1} << 26));
    SACCADE_ASSERT_OK_AND_ASSIGN(const auto tensors, ParseSafetensors(std::as_bytes(std::span(file))));
    SACCADE_ASSERT_OK_AND_ASSIGN(const Conversation conversation, ParseConversation(golden));
    const RenderedPrompt prompt = RenderChat(conversation);
    EXPECT_EQ(prompt.Text(), golden["rendered"].get<std::string>());

    const std::vector<int32_t> grids = Integers(tensors, "image_grid_thw");
    std::vector<int64_t> counts;
    for (size_t i = 0; i + 2 < grids.size(); i += 3)
      counts.push_back(int64_t{grids[i]} * grids[i + 1] * grids[i + 2] / 4);
    SACCADE_ASSERT_OK_AND_ASSIGN(const auto ids, EncodePrompt(tokenizer, prompt));
    SACCADE_ASSERT_OK_AND_ASSIGN(const auto expanded, ExpandImages(ids, marks.image_pad, counts));
    EXPECT_EQ(expanded, Integers(tensors, "input_ids"));
    EXPECT_EQ(expanded.size(), golden["prompt_tokens"].get<size_t>());

    const std::vector<int32_t> greedy = Integers(tensors, "greedy_ids");
    EXPECT_EQ(tokenizer.Decode(greedy, false), golden["greedy_text"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, ChatGolden, ::testing::Values("tiny-dense", "tiny-untied"),
                         [](const auto& info) { return std::string(info.index == 0 ? "dense" : "untied"); });

}  // namespace
}  // namespace saccade
