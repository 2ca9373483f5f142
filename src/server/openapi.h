// The description of the API for clients and tests, made from the declarations that requests are read by.
#pragma once

#include "base/json.h"

namespace saccade {

OrderedJson OpenApiDocument();

}  // namespace saccade
