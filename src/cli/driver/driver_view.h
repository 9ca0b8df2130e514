// The result of a driver installation, for people and programs.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/setup/driver/verify.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::cli {

// "driver 535 is installed", the results of the checks, what to do next.
std::string OutcomeText(const driver_install::Outcome& outcome, std::string_view version);
boost::json::object OutcomeJson(const driver_install::Outcome& outcome, std::string_view version);

// "unfinished: step 7 of 16, build: doing; kgpu driver install goes on with it, …".
std::string JournalText(const driver_install::Journal& journal);
boost::json::object JournalJson(const driver_install::Journal& journal);

std::string VerifiedText(const driver::Verified& seen);
boost::json::object VerifiedJson(const driver::Verified& seen);

}  // namespace kgpu::cli
