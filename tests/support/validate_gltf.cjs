// node validate_gltf.cjs DIRECTORY FILE: the Khronos validator, found in DIRECTORY/node_modules, on one file.
// First line: the numbers of errors and warnings; then one line per message.
const fs = require('fs');
const path = require('path');
const [directory, file] = process.argv.slice(2);
const validator = require(path.resolve(directory, 'node_modules', 'gltf-validator'));

validator.validateBytes(new Uint8Array(fs.readFileSync(file)), { maxIssues: 50 }).then((report) => {
  console.log(`${report.issues.numErrors} ${report.issues.numWarnings}`);
  const kinds = ['error', 'warning', 'information', 'hint'];
  for (const issue of report.issues.messages)
    console.log(`${kinds[issue.severity]}: ${issue.pointer || ''}: ${issue.code}: ${issue.message}`);
}).catch((failure) => {
  console.log(`1 0\nerror: ${failure}`);
});
