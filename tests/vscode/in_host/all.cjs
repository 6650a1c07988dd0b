// What VS Code runs. The interpreter comes first: the features are traced with the one that is selected there.
const { runner } = require("./host.cjs");

exports.run = runner({ ...require("./interpreter.cjs"), ...require("./features.cjs") });
