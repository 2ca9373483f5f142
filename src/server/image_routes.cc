#include "server/image_routes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "image/image.h"
#include "server/error_reply.h"
#include "server/json_reply.h"
#include "server/multipart.h"
#include "server/request_pictures.h"
#include "server/schema.h"

namespace saccade {
namespace {

constexpr size_t kMaxFormParts = 16;

struct UploadRequest {
  std::string image;
};

constexpr Field<UploadRequest> kUploadFields[] = {
    {{.name = "image",
      .type = FieldType::kString,
      .help = "data URL of a picture, or bare base64",
      .required = true},
     [](UploadRequest& out, const OrderedJson& value) { out.image = value.get<std::string>(); }},
};

bool IsType(std::string_view content_type, std::string_view type) {
  return HttpNameEquals(content_type.substr(0, type.size()), type);
}

// The picture of a body: JSON with base64, a form with a file, or else the body itself.
Result<std::vector<std::byte>> UploadedBytes(const HttpRequest& http) {
  if (IsType(http.Header("content-type"), "application/json")) {
    auto document = ParseOrderedJson(http.body);
    if (!document.ok()) return std::move(document).status().WithContext("the request body is not valid JSON");
    if (!document->is_object()) return InvalidArgument("the request body must be a JSON object");
    UploadRequest request;
    SACCADE_RETURN_IF_ERROR(ReadFields<UploadRequest>(*document, kUploadFields, request));
    auto bytes = DecodePictureSource(request.image);
    if (!bytes.ok()) return std::move(bytes).status().WithParam("image");
    return bytes;
  }
  std::string_view body = http.body;
  if (IsMultipart(http.Header("content-type"))) {
    SACCADE_ASSIGN_OR_RETURN(const std::vector<FormPart> parts,
                             ParseMultipart(http.Header("content-type"), http.body, kMaxFormParts));
    const auto file = std::find_if(parts.begin(), parts.end(), [](const FormPart& part) {
      return part.name == "image" || part.name == "file";
    });
    if (file == parts.end()) return InvalidArgument("the form has no field image or file").WithParam("image");
    body = file->bytes;
  }
  if (body.empty()) return InvalidArgument("the body is empty; send the picture's bytes").WithParam("image");
  const auto* data = reinterpret_cast<const std::byte*>(body.data());
  return std::vector<std::byte>(data, data + body.size());
}

// Refuses what no question could be asked about; the size is the upright one.
Result<OrderedJson> Describe(const ImageStore::Kept& kept) {
  OrderedJson reply = {{"id", kept.id},
                       {"object", "image"},
                       {"url", std::string(kStoredImagePrefix) + kept.id},
                       {"bytes", kept.bytes->size()},
                       {"expires_in", kept.expires_in.count()}};
  if (IsDocument(*kept.bytes)) {  // opened when a question about it comes, in a process of its own
    reply["kind"] = SniffDocument(*kept.bytes) == DocumentKind::kPdf ? "PDF" : "TIFF";
    return reply;
  }
  SACCADE_ASSIGN_OR_RETURN(const ImageInfo info, ProbeImage(*kept.bytes));
  const Size size = UprightSizeOf(info);
  reply["kind"] = ImageKindName(info.kind);
  reply["width"] = size.width;
  reply["height"] = size.height;
  return reply;
}

Result<OrderedJson> Upload(const HttpRequest& http, ImageStore& store) {
  SACCADE_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, UploadedBytes(http));
  auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  // Looked at before it is kept: what is no picture takes nobody's room.
  auto described = Describe({.id = "", .bytes = shared});
  if (!described.ok()) return std::move(described).status().WithParam("image");
  SACCADE_ASSIGN_OR_RETURN(const ImageStore::Kept kept,
                           store.Put(http.caller.cache_scope, std::move(shared)));
  (*described)["id"] = kept.id;
  (*described)["url"] = std::string(kStoredImagePrefix) + kept.id;
  (*described)["expires_in"] = kept.expires_in.count();
  return described;
}

Result<OrderedJson> Show(const HttpRequest& http, ImageStore& store) {
  SACCADE_ASSIGN_OR_RETURN(const ImageStore::Kept kept, store.Get(http.path_tail));
  return Describe(kept);
}

Result<OrderedJson> Forget(const HttpRequest& http, ImageStore& store) {
  if (!store.Remove(http.path_tail)) return store.Get(http.path_tail).status();
  return OrderedJson{{"id", http.path_tail}, {"object", "image"}, {"deleted", true}};
}

using RouteAnswer = Result<OrderedJson> (*)(const HttpRequest&, ImageStore&);

HttpHandler Handler(ImageStore& store, RouteAnswer answer) {
  return [&store, answer](const std::shared_ptr<Exchange>& exchange) {
    const Result<OrderedJson> reply = answer(exchange->request(), store);
    exchange->Send(reply.ok() ? JsonReply(*reply) : ErrorReply(reply.status()));
  };
}

}  // namespace

void AddImageRoutes(Router& router, ImageStore& store, size_t max_body_bytes) {
  router.Add({"POST", "/v1/images", Handler(store, Upload), true, max_body_bytes});
  router.Add({"GET", "/v1/images/{id}", Handler(store, Show), true});
  router.Add({"DELETE", "/v1/images/{id}", Handler(store, Forget)});
}

openapi::J ImagePaths() {
  using namespace openapi;
  const J image = Object({{"id", Text()},
                          {"object", {{"const", "image"}}},
                          {"url", Text()},
                          {"bytes", Integer()},
                          {"expires_in", Integer()},
                          {"kind", Text()},
                          {"width", Integer()},
                          {"height", Integer()}},
                         {"width", "height"});
  J upload = PostRoute(
      "Keep a picture; its url can stand wherever a picture's URL is expected", "ImageUpload",
      Answer("the picture, until it was not used for expires_in seconds", "application/json", image));
  J binary = {{"type", "string"}, {"format", "binary"}};
  upload["post"]["requestBody"]["content"]["application/octet-stream"] = {{"schema", std::move(binary)}};
  const J deleted =
      Object({{"id", Text()}, {"object", {{"const", "image"}}}, {"deleted", {{"const", true}}}});
  J one = GetRoute("A kept picture", Answer("the picture", "application/json", image),
                   {{"404", ErrorAnswer("unknown or expired")}});
  one["parameters"] = J::array({PathParameter("id")});
  one["delete"] = J{{"summary", "Forget a kept picture"},
                    {"responses",
                     {{"200", Answer("forgotten", "application/json", deleted)},
                      {"404", ErrorAnswer("unknown or expired")}}}};
  return {{"/v1/images", std::move(upload)}, {"/v1/images/{id}", std::move(one)}};
}

openapi::J ImageUploadSchema() { return ObjectSchema<UploadRequest>(kUploadFields); }

}  // namespace saccade
