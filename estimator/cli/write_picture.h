#pragma once

#include <string>

namespace dlcost {

// Writes a picture in SVG to `path` ("" or "-": standard output); a path that ends in ".png" as PNG
// of twice the size, by way of rsvg-convert. Throws Error where that is missing, for a path with
// another ending, and where an SVG would pour into a terminal.
void WritePicture(const std::string& path, const std::string& svg);

}  // namespace dlcost
