// POST /v1/images keeps a picture or document, GET describes it, DELETE forgets it.
#pragma once

#include <cstddef>

#include "server/image_store.h"
#include "server/openapi_schema.h"
#include "server/router.h"

namespace saccade {

// `store` outlives the router.
void AddImageRoutes(Router& router, ImageStore& store, size_t max_body_bytes);

// Their entries of "paths" in /openapi.json.
openapi::J ImagePaths();
openapi::J ImageUploadSchema();

}  // namespace saccade
