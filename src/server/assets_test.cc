#include "server/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_testing.h"
#include "server/http_server.h"
#include "server/server_testing.h"

namespace saccade {
namespace {

using ::testing::AllOf;
using testing::ClientReply;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestClient;

class AssetsTest : public ::testing::Test {
 protected:
  void Serve(const std::vector<EmbeddedFile>& files) {
    server_.reset();
    assets_ = std::make_unique<Assets>(files);
    Router router;
    assets_->AddRoutes(router);
    HttpServerOptions options;
    options.port = 0;
    auto started = HttpServer::Start(options, std::move(router), nullptr, nullptr);
    SACCADE_ASSERT_OK(started);
    server_ = std::move(*started);
    client_ = std::make_unique<TestClient>(server_->port());
  }
  std::unique_ptr<Assets> assets_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<TestClient> client_;
};

TEST_F(AssetsTest, ThePageLoadsWithinItsBudgetAndPolicy) {
  Serve(EmbeddedFiles());
  const ClientReply page = client_->Get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.Header("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(
      page.Header("content-security-policy"),
      AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self'"), Not(HasSubstr("unsafe"))));
  EXPECT_THAT(page.body,
              AllOf(Not(HasSubstr("@ASSETS@")), Not(HasSubstr("<script>")), Not(HasSubstr("style=")),
                    Not(HasSubstr("=\"/"))));  // relative addresses only: a path prefix may come first
  size_t total = page.body.size();
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    if (!file.name.starts_with("web/") || file.name == "web/index.html") continue;
    const std::string name(file.name.substr(4));
    const ClientReply asset = client_->Get("/assets/" + assets_->hash() + "/" + name);
    EXPECT_EQ(asset.status, 200) << name;
    EXPECT_THAT(page.body, HasSubstr("/" + name + "\""))
        << "loaded at once, not after the script that needs it";
    EXPECT_THAT(asset.Header("cache-control"), HasSubstr("immutable"));
    EXPECT_EQ(asset.Header("x-content-type-options"), "nosniff");
    total += asset.body.size();
  }
  EXPECT_LT(total, 300'000u);
}

TEST_F(AssetsTest, RevalidatesByTag) {
  Serve({{"web/index.html", "assets/@ASSETS@/a.js"}, {"web/a.js", "1"}});
  const std::string tag = client_->Get("/").Header("etag");
  EXPECT_EQ(client_->Get("/", "If-None-Match: " + tag + "\r\n").status, 304);
  EXPECT_EQ(client_->Get("/", "If-None-Match: W/" + tag + "\r\n").status, 304);
  EXPECT_EQ(client_->Get("/", "If-None-Match: \"other\"\r\n").status, 200);
  const std::string old_hash = assets_->hash();
  Serve({{"web/index.html", "assets/@ASSETS@/a.js"}, {"web/a.js", "2"}});
  EXPECT_NE(assets_->hash(), old_hash);
  EXPECT_NE(client_->Get("/").Header("etag"), tag);
  const ClientReply late = client_->Get("/assets/" + old_hash + "/a.js");  // a page opened before the update
  EXPECT_EQ(late.body, "2");
  EXPECT_EQ(late.Header("cache-control"), "no-cache");
}

TEST_F(AssetsTest, ListsExamplesAndToleratesNone) {
  Serve({{"examples/chart.png", "PNG"}, {"examples/questions.json", R"({"chart.png":{"en":["What?"]}})"}});
  SACCADE_ASSERT_OK_AND_ASSIGN(const Json list, ParseJson(client_->Get("/examples/").body));
  EXPECT_EQ(list["pictures"], Json::array({"chart.png"}));
  EXPECT_EQ(list["questions"]["chart.png"]["en"][0], "What?");
  const ClientReply picture = client_->Get("/examples/chart.png");
  EXPECT_EQ(picture.Header("content-type"), "image/png");
  EXPECT_EQ(picture.body, "PNG");
  EXPECT_EQ(client_->Get("/examples/../web/app.js").status, 404);
  EXPECT_EQ(client_->Get("/examples/other.png").status, 404);
  EXPECT_EQ(client_->Get("/assets/x").status, 404);
  Serve({});
  SACCADE_ASSERT_OK_AND_ASSIGN(const Json none, ParseJson(client_->Get("/examples/").body));
  EXPECT_EQ(none["pictures"], Json::array());
}

}  // namespace
}  // namespace saccade
