// The part of Go's text/template, with helm's functions, that the chart's templates use. Whatever
// is outside of it is an error, so that helm and kgpu cannot read a template differently.
//
//   {{ .Values.a.b }}   a string, true or false; numbers, lists and maps need toJson or toYaml
//   {{ if P }} {{ else if P }} {{ else }} {{ end }}      {{/* a comment */}}
//   {{ range $key, $entry := P }} {{ end }}   entries of lists, and of maps by key; within it
//                       $.Values.a.b instead of .Values.a.b; $entry.x is null if it has no x
//   P | f x             toYaml, toJson, quote, nindent N, and, or, not, eq, ne, .Files.Get "path"
//   {{ fail "text" }}   the values cannot be used: the text is the error
//   {{- and -}}         take the blanks before and after along
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::chart {

struct TemplateData {
  const boost::json::object& fields;  // .Values, .Release, .Chart
  // The text of a file of the chart for .Files.Get; nothing if there is none.
  std::function<std::optional<std::string_view>(std::string_view path)> file;
};

// `name` is only used in errors ("agent.yaml:3:7: …"), but for those of `fail`.
// Errors: InvalidArgument.
StatusOr<std::string> RenderTemplate(std::string_view text, std::string_view name,
                                     const TemplateData& data);

}  // namespace kgpu::chart
