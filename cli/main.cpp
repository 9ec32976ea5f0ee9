#include "cli/app.hpp"

int main(int argc, char** argv) { return wattle::cli::run_app(argc, argv); }
