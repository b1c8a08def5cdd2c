"""The look of the page: one style sheet for screen, dark screen and paper. Colours have a contrast of 4.5 or more."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --muted: #4d5661; --paper: #ffffff; --card: #f4f6f8; --rule: #727a84;
  --faint: #d5dae0; --one: #0b5cad; --two: #a8430b; --three: #1c6b45; --four: #7a3e9d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --muted: #b3bac3; --paper: #15181c; --card: #1f242a;
  --rule: #8b949e; --faint: #3a424b; --one: #6cb6ff; --two: #ff9e64; --three: #6fce9c; --four: #d2a8ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", Roboto, Ubuntu,
  Cantarell, "Noto Sans", sans-serif; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem; z-index: 1; }
header, main, footer { max-width: 62rem; margin: 0 auto; padding: 1rem 1.25rem; }
main { padding-top: 0; }
h1, h2, h3, p, li, summary, figcaption { overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0 .4rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--faint); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .4rem; }
a { color: var(--one); }
:focus-visible { outline: 3px solid var(--two); outline-offset: 2px; }
nav ol { columns: 2; padding-left: 1.4rem; } nav li { break-inside: avoid; }
.badge { display: inline-block; border: 2px solid var(--three); color: var(--three); border-radius: .4rem;
  padding: .1rem .6rem; font-weight: 600; }
.badge.fair { border-color: var(--one); color: var(--one); }
.badge.no { border-color: var(--two); color: var(--two); }
.lead { font-size: 1.1rem; }
.note, figcaption, caption, .muted { color: var(--muted); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; margin: 0; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .93rem; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--faint);
  font-weight: normal; }
thead th { font-weight: 600; border-bottom: 2px solid var(--rule); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: .9em/1.5 ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
pre { background: var(--card); border: 1px solid var(--faint); border-radius: .4rem; padding: .7rem 1rem;
  overflow-x: auto; white-space: pre-wrap; }
figure { margin: 1rem 0; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem 2rem; } .pair > div { width: 430px; max-width: 100%; }
.small { display: flex; flex-wrap: wrap; gap: 1rem; } .small > div { width: 306px; } .small figure { margin: 0; }
svg { display: block; max-width: none; height: auto; }
svg text { fill: var(--ink); font: 12.5px system-ui, "Segoe UI", Roboto, Ubuntu, Cantarell, "Noto Sans", sans-serif; }
svg .muted { fill: var(--muted); } svg .bold { font-weight: 600; } svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg .axis { stroke: var(--rule); stroke-width: 1; fill: none; } svg .grid { stroke: var(--faint); stroke-width: 1; }
svg .box { fill: var(--card); stroke: var(--rule); } svg .edge { stroke: var(--rule); fill: none; }
svg .f1 { fill: var(--one); }
svg .l1 { stroke: var(--one); } svg .l2 { stroke: var(--two); stroke-dasharray: 7 3; }
svg .l3 { stroke: var(--three); stroke-dasharray: 2 3; } svg .l4 { stroke: var(--four); stroke-dasharray: 9 3 2 3; }
svg .line { fill: none; stroke-width: 2.2; } svg .band { fill: var(--one); fill-opacity: .22; }
svg .d1 { fill: var(--one); } svg .d2 { fill: var(--two); } svg .d3 { fill: var(--three); }
svg .d4 { fill: var(--four); }
svg .w1 { stroke: var(--one); } svg .w2 { stroke: var(--two); } svg .w3 { stroke: var(--three); }
svg .w4 { stroke: var(--four); } svg .whisker { stroke-width: 1.4; fill: none; }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--one); }
.bars { list-style: none; margin: 0; padding: 0; max-width: 44rem; font-size: .93rem; }
.bars li { display: grid; grid-template-columns: minmax(5rem, 14rem) 1fr minmax(4rem, max-content);
  gap: .2rem .8rem; align-items: center;
  padding: .12rem 0; }
.bars .name { text-align: right; overflow-wrap: anywhere; }
.bar { display: block; width: 100%; height: .8rem; }
.bars .bar { background: var(--card); border-radius: 2px; }
.tree { font-size: .82rem; line-height: 1.3; }
.tree ul { list-style: none; margin: 0; padding: 0; }
.box { background: var(--card); border: 1px solid var(--rule); border-radius: .35rem; padding: .3rem .55rem;
  overflow-wrap: anywhere; max-width: 24rem; }
.leaf { border-left-width: .3rem; } .leaf strong, .leaf .muted { display: block; }
.leaf .bar { height: .3rem; margin-top: .25rem; background: var(--faint); }
.c1 { border-left-color: var(--one); } .c2 { border-left-color: var(--two); } .c3 { border-left-color: var(--three); }
.c4 { border-left-color: var(--four); }
.c2 .f1 { fill: var(--two); } .c3 .f1 { fill: var(--three); } .c4 .f1 { fill: var(--four); }
.answer { display: block; color: var(--muted); padding: .1rem 0; overflow-wrap: anywhere; }
.kids { border-left: 1px solid var(--rule); } .tree .kids { margin-left: .7rem; padding-left: .8rem; }
.kid { padding-top: .25rem; }
@media (min-width: 64rem) {
  .tree:not(.list) .node { display: flex; align-items: center; }
  .tree:not(.list) .node > .box { width: 8.7rem; flex: none; }
  .tree:not(.list) .kids { border: 0; margin: 0; padding: 0 0 0 .9rem; position: relative; }
  .tree:not(.list) .kids::before { content: ""; position: absolute; left: 0; top: 50%; width: .9rem;
    border-top: 1px solid var(--rule); }
  .tree:not(.list) .kid { display: flex; align-items: center; position: relative; padding: .18rem 0 .18rem .5rem; }
  .tree:not(.list) .kid::before { content: ""; position: absolute; left: 0; top: 0; bottom: 0;
    border-left: 1px solid var(--rule); }
  .tree:not(.list) .kid:first-child::before { top: 50%; } .tree:not(.list) .kid:last-child::before { bottom: 50%; }
  .tree:not(.list) .kid::after { content: ""; position: absolute; left: 0; top: 50%; width: .5rem;
    border-top: 1px solid var(--rule); }
  .tree:not(.list) .answer { flex: none; width: 2.3rem; padding: 0 .25rem; text-align: center; }
}
@media (max-width: 40rem) { nav ol { columns: 1; } dl { grid-template-columns: 1fr; }
  .bars li { grid-template-columns: minmax(4rem, 8rem) 1fr minmax(3rem, max-content); } }
@media print { :root { color-scheme: light; --ink: #000000; --muted: #333333; --paper: #ffffff; --card: #ffffff;
  --rule: #555555; --faint: #bbbbbb; --one: #0b5cad; --two: #a8430b; --three: #1c6b45; --four: #7a3e9d; }
  nav, .skip { display: none; } h2, h3 { break-after: avoid; } figure, table { break-inside: avoid; }
  .scroll { overflow: visible; } svg { max-width: 100%; } body { font-size: 11pt; } }
"""
