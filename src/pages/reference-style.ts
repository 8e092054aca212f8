/** The style of the reference. Its colours, radii, fonts and sizes are the custom properties of lib/design-style.ts. */
export const referenceStyle = `
*,*::before,*::after{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0 auto;max-width:78rem;padding:1.5rem 1rem 4rem;color:var(--text);background:var(--background);overflow-wrap:anywhere;
display:grid;grid-template-columns:minmax(0,1fr);gap:1.5rem}
h1,h2,h3,h4,p,ul,dl,dd{margin:0;padding:0}
h1{font-size:var(--size-subtitle);line-height:1.3}
h2{margin-bottom:.25rem;font-size:var(--size-brand)}
h3{font-size:var(--size-medium)}
h4{font-size:var(--size-small)}
a{color:var(--accent-text);text-underline-offset:.2em}
h3 a{color:inherit;text-decoration:none}
h3 a:hover{text-decoration:underline}
:focus-visible{outline:2px solid var(--accent-text);outline-offset:2px}
.skip{position:absolute;left:-100rem}
.skip:focus{position:static}
code,.path,.method{font-family:var(--font-code);font-size:var(--size-small)}
.method{font-weight:700}
main,section,article,dd{display:grid;grid-template-columns:minmax(0,1fr);gap:.75rem;align-content:start}
main{gap:2.5rem}
article{padding:1.25rem;background:var(--surface);border:1px solid var(--line);border-radius:var(--radius-card)}
article:target{border-color:var(--accent-text)}
nav ul{list-style:none}
nav ul ul{padding-left:.75rem;font-size:var(--size-small)}
nav li{padding:.125rem 0}
nav a{display:inline-block;min-height:1.5rem}
summary{cursor:pointer;min-height:1.5rem}
dl{display:grid;grid-template-columns:3rem minmax(0,1fr);gap:.75rem}
dd ul{padding-left:1.25rem}
.about,caption{color:var(--muted);font-size:var(--size-small)}
caption{text-align:left;padding-bottom:.25rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;min-width:28rem;font-size:var(--size-small)}
th,td{padding:.375rem .75rem .375rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
@media (max-width:40rem){
table{min-width:0}
thead{position:absolute;left:-100rem}
table,tbody,tr,td,caption{display:block}
tr{padding:.375rem 0;border-bottom:1px solid var(--line)}
td{padding:0;border:0}
td:empty{display:none}
td:not(:first-child)::before{content:attr(data-head) ": ";color:var(--muted)}
}
@media (min-width:64rem){
nav details::details-content{content-visibility:visible;block-size:auto}
body{grid-template-columns:20rem minmax(0,1fr)}
header{grid-column:1/-1}
nav{position:sticky;top:1rem;align-self:start;max-height:calc(100dvh - 2rem);overflow-y:auto}
}
@media print{nav,.skip{display:none}}
`
