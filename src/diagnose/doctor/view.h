// A diagnosis and the table of checks for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/diagnose/doctor/doctor.h"

namespace kgpu::doctor {

// Worst findings first, each with its fix; then what could not be read.
std::string DiagnosisText(const Diagnosis& diagnosis, bool has_color = false);
// Field names are part of the interface: docs/reference/doctor.md.
boost::json::value DiagnosisJson(const Diagnosis& diagnosis);

// One check, for --explain.
std::string ExplainText(const Check& check);
// Every check, for --list.
std::vector<report::Kind> CheckKinds();
// The table of docs/reference/doctor.md.
std::string ChecksMarkdown();

}  // namespace kgpu::doctor
