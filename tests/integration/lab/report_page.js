// Runs a report's script on a minimal DOM: every plot and every choice of its lists must be drawn with numbers, axes
// and
// intervals, and with learning curves and regret if the data has them. Usage: node report_page.js FILE
"use strict";
const fs = require("fs");
const html = fs.readFileSync(process.argv[2], "utf8");
const scripts = [...html.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map(match => match[1]);

class Element {
  constructor(tag, text = "") { this.tag = tag; this.text = text; this.attributes = {}; this.childNodes = []; this.style = {}; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  append(...kids) {
    for (const kid of kids) {
      const node = kid instanceof Element ? kid : new Element("#text", String(kid));
      node.parent = this;
      this.childNodes.push(node);
    }
  }
  remove() { this.parent.childNodes = this.parent.childNodes.filter(each => each !== this); }
  get lastChild() { return this.childNodes[this.childNodes.length - 1]; }
  set textContent(text) { this.childNodes = []; this.append(text); }
  get textContent() { return this.text + this.childNodes.map(each => each.textContent).join(""); }
  get value() { return this.attributes.value; }
  all(tag) { return this.childNodes.flatMap(each => (each.tag === tag ? [each] : []).concat(each.all(tag))); }
}

const main = new Element("main"), data = new Element("script");
data.textContent = scripts[0];
global.document = {
  getElementById: id => (id === "main" ? main : data),
  createElement: tag => new Element(tag),
  createElementNS: (space, tag) => new Element(tag),
};
new Function(scripts[1])();

const reported = JSON.parse(scripts[0]);
const wrong = [];
function look(when) {
  for (const plot of main.all("svg")) {
    const parts = ["line", "circle", "rect", "polyline", "polygon", "text"].flatMap(tag => plot.all(tag));
    const said = parts.map(each => Object.values(each.attributes).join(" ") + " " + each.textContent).join("\n");
    if (/NaN|Infinity|undefined/.test(said)) wrong.push(`${when}: a plot contains a non-number`);
    const grid = plot.all("line").filter(each => each.attributes.stroke === "var(--grid)").length;
    if (grid < 1 || plot.all("text").length < 3) wrong.push(`${when}: a plot has no axis`);
  }
}
look("initial view");
let choices = 0;
for (const list of main.all("select"))
  for (const option of list.all("option")) {
    list.setAttribute("value", option.attributes.value);
    list.onchange();
    look(option.attributes.value);
    ++choices;
  }
function finish(said) {
  for (const each of new Set(wrong)) console.error(each);
  console.log(said);
  process.exit(wrong.length ? 1 : 0);
}
if (!reported.trials) {  // the page of lab/real
  for (const policy of reported.policies) if (!main.textContent.includes(policy.name)) wrong.push(`${policy.name} is not named`);
  finish(`${main.all("svg").length} plots, ${choices} choices`);
}
const text = main.textContent;
for (const trial of reported.trials)
  if (!text.includes(trial.scenario.replaceAll("_", " "))) wrong.push(`${trial.scenario} has no section`);
for (const setting of reported.consolidation) if (!text.includes(setting.name)) wrong.push(`${setting.name} is not drawn`);
// Plots below a heading that begins with `title`, with these words at their axes.
function plots(heading, axes) {
  const under = main.all("div").filter(each => each.childNodes.some(kid => kid.tag === "h3" && kid.textContent.startsWith(heading)));
  return under.flatMap(each => each.all("svg")).filter(plot => axes.every(axis => plot.textContent.includes(axis))).length;
}
const judged = reported.trials.filter(trial => trial.entries.some(entry => entry.name === "true-greedy")).length;
const decided = plots("regret over decisions", ["decisions", "kJ beyond true greedy"]), whole = plots("regret: energy", ["joules / true greedy's - 1"]);
if (judged < 1 || decided !== judged || whole !== judged) wrong.push(`${decided} plots of regret over decisions and ${whole} of whole episodes, not ${judged}`);
for (const curve of reported.curves) if (plots(curve.name, ["decisions", "mean reward"]) !== 1) wrong.push(`the learning curve ${curve.name} is not drawn with its axes`);
if (reported.curves.length < 1) wrong.push("there is no learning curve");
const whiskers = main.all("line").filter(each => each.attributes["stroke-width"] === "2.4").length;
if (whiskers < 10 * reported.trials.length) wrong.push(`only ${whiskers} intervals are drawn`);
if (main.all("div").filter(each => each.attributes.class === "legend").length < reported.trials.length) wrong.push("nodes have no legend");
if (choices < 100) wrong.push(`only ${choices} choices`);
finish(`${main.all("svg").length} plots, ${choices} choices, ${whiskers} intervals`);
