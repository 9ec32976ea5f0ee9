#include "load/app.hpp"

int main(int argc, char** argv) { return wattle::load::run_app(argc, argv); }
