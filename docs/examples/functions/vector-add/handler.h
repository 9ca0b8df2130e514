#pragma once

#include <string>

std::string Handler(const std::string req);
