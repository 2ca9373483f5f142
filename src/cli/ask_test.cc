// The parts of saccade ask that need no model.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/status_testing.h"
#include "cli/ask_files.h"
#include "cli/ask_many.h"
#include "cli/draw_boxes.h"
#include "cli/terminal_picture.h"

namespace saccade {
namespace {

RgbImage Filled(int width, int height, uint8_t value) {
  RgbImage picture;
  picture.width = width;
  picture.height = height;
  picture.pixels.assign(picture.row_bytes() * static_cast<size_t>(height), value);
  return picture;
}

TEST(AskMany, CsvQuotesAndDisarmsFormulas) {
  EXPECT_EQ(CsvLine({"a", "b,c", "say \"hi\"", "two\nlines", "=1+1"}),
            "a,\"b,c\",\"say \"\"hi\"\"\",\"two\nlines\",'=1+1\r\n");
}

TEST(DrawBoxes, DrawsWhereTheAnswerSays) {
  RgbImage picture = Filled(200, 100, 9);
  AnswerBox box;
  box.left = 100, box.top = 200, box.right = 500, box.bottom = 800;
  DrawBoxes({box}, picture);
  const auto drawn = [&](int x, int y) { return picture.pixels[y * picture.row_bytes() + 3 * x] != 9; };
  EXPECT_TRUE(drawn(20, 20) && drawn(99, 79) && drawn(60, 21) && drawn(21, 50));
  EXPECT_FALSE(drawn(60, 50) || drawn(19, 50) || drawn(100, 50) || drawn(60, 80));
}

TEST(TerminalPicture, ShrinksByAveraging) {
  RgbImage picture = Filled(4, 2, 0);
  for (size_t i = 0; i < picture.pixels.size(); i += 6) picture.pixels[i] = picture.pixels[i + 1] = 100;
  const RgbImage small = ShrinkTo(picture, 2);
  EXPECT_EQ(small.size(), (Size{2, 1}));
  EXPECT_EQ(small.pixels, (std::vector<uint8_t>{50, 50, 0, 50, 50, 0}));
}

TEST(TerminalPicture, TheProtocolsOfTerminals) {
  const RgbImage picture = Filled(2, 2, 255);
  const std::vector<std::byte> png(5000, std::byte{1});
  const std::string kitty = PictureForTerminal(TerminalKind::kKitty, picture, png);
  EXPECT_EQ(kitty.rfind("\033_Ga=T,f=100,m=1;", 0), 0u);
  EXPECT_NE(kitty.find("\033_Gm=0;"), std::string::npos);
  EXPECT_EQ(
      PictureForTerminal(TerminalKind::kIterm, picture, png).rfind("\033]1337;File=inline=1;size=5000:", 0),
      0u);
  EXPECT_EQ(PictureForTerminal(TerminalKind::kPlain, picture, png),
            "\033[38;2;255;255;255;48;2;255;255;255m\xE2\x96\x80\033[38;2;255;255;255;48;2;255;255;"
            "255m\xE2\x96\x80\033[0m\n");
}

TEST(AskFiles, FoldersAndPatterns) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "saccade_ask_test";
  std::filesystem::create_directories(folder);
  for (const char* name : {"b.PNG", "a.pdf", "notes.txt"}) std::ofstream(folder / name) << "x";
  SACCADE_ASSERT_OK_AND_ASSIGN(const AskFiles whole, ExpandArguments({folder.string()}));
  EXPECT_TRUE(whole.many);
  EXPECT_EQ(whole.names,
            (std::vector<std::string>{(folder / "a.pdf").string(), (folder / "b.PNG").string()}));
  SACCADE_ASSERT_OK_AND_ASSIGN(const AskFiles matched, ExpandArguments({(folder / "*.txt").string()}));
  EXPECT_EQ(matched.names.size(), 1u);
  SACCADE_ASSERT_OK_AND_ASSIGN(const AskFiles plain, ExpandArguments({"-", "missing.png"}));
  EXPECT_FALSE(plain.many);
  EXPECT_FALSE(ExpandArguments({(folder / "*.gif").string()}).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace saccade
