// Pieces of an OpenAPI document, for openapi.cc and the files that describe the routes of one part.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace saccade::openapi {

using J = OrderedJson;

inline J Ref(std::string_view name) { return {{"$ref", "#/components/schemas/" + std::string(name)}}; }
inline J Integer() { return {{"type", "integer"}}; }
inline J Number() { return {{"type", "number"}}; }
inline J Text() { return {{"type", "string"}}; }
inline J ListOf(J items) { return {{"type", "array"}, {"items", std::move(items)}}; }
inline J OneOfNull(J schema) { return {{"anyOf", J::array({std::move(schema), {{"type", "null"}}})}}; }

// All properties are required unless named in `optional`.
inline J Object(const J& properties, const std::vector<std::string>& optional = {}) {
  J required = J::array();
  for (const auto& [name, schema] : properties.items()) {
    if (std::find(optional.begin(), optional.end(), name) == optional.end()) required.push_back(name);
  }
  return {{"type", "object"}, {"properties", properties}, {"required", std::move(required)}};
}

inline J Content(std::string_view type, J schema) {
  return {{std::string(type), {{"schema", std::move(schema)}}}};
}

inline J Answer(std::string_view description, std::string_view type, J schema) {
  return {{"description", description}, {"content", Content(type, std::move(schema))}};
}

inline J ErrorAnswer(std::string_view description) {
  return Answer(description, "application/json", Ref("Error"));
}

// A GET route whose 200 is `ok`; `more` are its other answers by status.
inline J GetRoute(std::string_view summary, J ok, const J& more = J::object()) {
  J responses = {{"200", std::move(ok)}};
  responses.update(more);
  return {{"get", {{"summary", summary}, {"responses", std::move(responses)}}}};
}

inline J Body(std::string_view schema) {
  return {{"required", true}, {"content", Content("application/json", Ref(schema))}};
}

// A POST route with a JSON body for the model; `more` are answers beside the usual ones.
inline J PostRoute(std::string_view summary, std::string_view request_schema, J ok,
                   const J& more = J::object()) {
  J responses = {{"200", std::move(ok)},
                 {"400", ErrorAnswer("something in the request is wrong or not supported; param names it")},
                 {"401", ErrorAnswer("the server has API keys and this is none of them")},
                 {"403", ErrorAnswer("sent by a page of another site")},
                 {"404", ErrorAnswer("no such model")},
                 {"408", ErrorAnswer("the request took too long to arrive")},
                 {"413", ErrorAnswer("the body or the number of pictures is over the limit")},
                 {"500", ErrorAnswer("a fault of the server")},
                 {"503", ErrorAnswer("the model is loading or the server is stopping")}};
  responses.update(more);
  return {
      {"post",
       {{"summary", summary}, {"requestBody", Body(request_schema)}, {"responses", std::move(responses)}}}};
}

inline J PathParameter(std::string_view name) {
  return {{"name", name}, {"in", "path"}, {"required", true}, {"schema", Text()}};
}

}  // namespace saccade::openapi
