// Boxes in pixels and uploaded pictures over real sockets, with a scripted backend.
#include <fmt/format.h>

#include "base/base64.h"
#include "base/file.h"
#include "server/server_fixture.h"

namespace saccade {
namespace {

using testing::ClientReply;
using testing::FakeBackend;
using testing::FakeRun;
using testing::TestClient;

// FakeBackend::Estimate says that every picture is 640 x 480.
const std::string kPicture = R"({"type":"image_url","image_url":{"url":"data:;base64,AAAA"}})";

class ImagesTest : public testing::FakeServerTest {
 protected:
  void SetUp() override {
    FakeServerTest::SetUp();
    ServerOptions options;
    options.image_store.max_bytes = 10000;
    StartServer(
        [](FakeRun& run) {
          run.Text(R"([{"bbox_2d": [0, 250, 500, 1000], "label": "cup"},)");
          run.Text(
              R"( {"point_2d": [100, 100], "label": "dot", "picture": 0}, {"bbox_2d": [1, 2, 3, 4], "picture": 9}])");
          run.Finish();
        },
        options);
  }
  std::string Chat(const std::string& picture, const std::string& more) {
    return R"({"messages":[{"role":"user","content":[)" + picture + R"(,{"type":"text","text":"where?"}]}])" +
           more + "}";
  }
};

TEST_F(ImagesTest, BoxesComeInPixels) {
  const std::string body = Post("/v1/chat/completions", Chat(kPicture, R"(,"boxes":"pixels")")).body;
  const Json boxes = Json::parse(body)["choices"][0]["message"]["boxes"];
  ASSERT_EQ(boxes.size(), 2u) << body;
  EXPECT_EQ(boxes[0],
            Json::parse(R"({"box":[0,120,320,480],"label":"cup","picture":0,"picture_size":[640,480]})"));
  EXPECT_EQ(boxes[1], Json::parse(R"({"point":[64,48],"label":"dot","picture":0,"picture_size":[640,480]})"));
}

TEST_F(ImagesTest, AStreamHasThemInItsLastChunk) {
  const std::string body =
      Post("/v1/chat/completions", Chat(kPicture, R"(,"boxes":"pixels","stream":true)")).body;
  const size_t last = body.rfind("\"finish_reason\":\"stop\"");
  ASSERT_NE(last, std::string::npos) << body;
  const size_t begin = body.rfind("data: ", last) + 6;
  const Json chunk = Json::parse(body.substr(begin, body.find("\n\n", begin) - begin));
  EXPECT_EQ(chunk["choices"][0]["delta"]["boxes"].size(), 2u);
}

TEST_F(ImagesTest, UnlessAskedForThereAreNone) {
  const std::string body = Post("/v1/chat/completions", Chat(kPicture, "")).body;
  EXPECT_FALSE(Json::parse(body)["choices"][0]["message"].contains("boxes"));
}

TEST_F(ImagesTest, AnUploadedPictureReachesTheModel) {
  const auto file = ReadFile(SACCADE_TEST_DATA "/golden/images/png_1bit.png", 1 << 20);
  SACCADE_ASSERT_OK(file);
  const std::string encoded = EncodeBase64(std::as_bytes(std::span(*file)));
  const ClientReply reply = Post("/v1/images", R"({"image":")" + encoded + "\"}");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const std::string url = Json::parse(reply.body)["url"];
  EXPECT_EQ(
      Post("/v1/chat/completions", Chat(R"({"type":"image_url","image_url":")" + url + "\"}", "")).status,
      200);
  const auto pictures = backend_->last_input().pictures;
  ASSERT_EQ(pictures.size(), 1u);
  EXPECT_EQ(pictures[0].bytes->size(), file->size());
}

TEST_F(ImagesTest, AFileOverTheStoresLimitIs413) {
  const auto file = ReadFile(SACCADE_TEST_DATA "/golden/images/jpeg_444.jpg", 1 << 20);
  SACCADE_ASSERT_OK(file);
  ASSERT_GT(file->size(), 10000u);
  EXPECT_EQ(
      Post("/v1/images", R"({"image":")" + EncodeBase64(std::as_bytes(std::span(*file))) + "\"}").status,
      413);
}

}  // namespace
}  // namespace saccade
