// The chart's templates: Go's text/template with those of helm's functions that they use. Helm and
// kgpu print the same for everything that is accepted.
//
//   P | f x             toYaml, toJson, quote, nindent N, and, or, not, eq, ne, get, .Files.Get
//   "path"
//   {{ fail "text" }}   the values cannot be used: the text is the error
//
// Numbers are decimal numbers, as in helm, and need toJson or toYaml, as do lists and maps. A
// missing field is an error: `get $map "key"` is "" without the key.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/gotemplate/value.h"

namespace kgpu::chart {

// A tree as templates see it.
gotemplate::Value TemplateValue(const boost::json::value& value);

// `data` has the fields .Values, .Release and .Files, whose fields are the files' paths. `name` is
// only used in errors ("agent.yaml: line 3, column 7: …"), but for those of `fail`. Errors:
// InvalidArgument.
StatusOr<std::string> RenderTemplate(std::string_view text, std::string_view name,
                                     const gotemplate::Value& data);

}  // namespace kgpu::chart
