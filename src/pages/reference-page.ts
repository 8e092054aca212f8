import { refusals } from '../contract/refusals.js'
import { pageHead } from '../http/headers.js'
import { designStyle } from '../lib/brand.js'
import type { Design } from '../lib/design.js'
import { escapeHtml } from '../lib/text.js'
import { codesIn } from './complete-document.js'

/** The style of the reference. Its colours, radii, fonts and sizes are the custom properties of lib/design-style.ts. */
const referenceStyle = `
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

type Schema = { readonly [key: string]: unknown }

type Media = { schema?: Schema }

type Response = { description: string; headers?: Record<string, object>; content?: Record<string, Media> }

type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Schema }

type ReferenceOperation = {
  operationId: string
  summary?: string
  description?: string
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Response | { $ref: string }>
}

export type ReferenceDocument = {
  info: { title: string; description?: string }
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, ReferenceOperation>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
  }
}

type ListedOperation = { method: string; path: string; operation: ReferenceOperation }

const code = (text: string) => `<code>${escapeHtml(text)}</code>`

const anchor = (text: string) => encodeURIComponent(text.replaceAll(' ', '-'))

/** The few marks that the descriptions use: paragraphs, bold words and code. */
const renderProse = (text: string) =>
  text
    .split('\n\n')
    .map((paragraph) => {
      const marked = escapeHtml(paragraph)
        .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
        .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
      return `<p>${marked}</p>`
    })
    .join('\n')

const nameOf = (ref: unknown) => String(ref).split('/').at(-1) ?? ''

const renderConstant = ({ const: value, description }: Schema) =>
  `<li>${code(String(value))} ${escapeHtml(String(description))}</li>`

/** A schema as its name or its type. `oneOf` is used for constants with descriptions only (refusal codes), which become a list. */
const renderType = (schema: Schema | undefined): string => {
  if (!schema) return ''
  if (typeof schema.$ref === 'string')
    return `<a href="#schema-${anchor(nameOf(schema.$ref))}">${code(nameOf(schema.$ref))}</a>`
  if (Array.isArray(schema.oneOf)) return `<ul>${schema.oneOf.map(renderConstant).join('')}</ul>`
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map((each: Schema) => renderType(each)).join(' or ')
  if ('const' in schema) return code(JSON.stringify(schema.const))
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ')
  if (schema.type === 'array') return `list of ${renderType(schema.items as Schema | undefined)}`
  const type = [schema.type].flat().join(' or ')
  return code([type, schema.format].filter((part) => typeof part === 'string').join(', '))
}

const boundsText = ({ minLength, maxLength, minimum, maximum }: Schema) => {
  const rangeText = (min: unknown, max: unknown, unit: string) =>
    [min === undefined ? '' : `from ${String(min)}`, max === undefined ? '' : `to ${String(max)}`, unit]
      .filter((part) => part !== '')
      .join(' ')
  if (minLength !== undefined || maxLength !== undefined) return rangeText(minLength, maxLength, 'characters')
  return minimum !== undefined || maximum !== undefined ? rangeText(minimum, maximum, '') : ''
}

/** Each cell names its column, because on a narrow screen the cells of a row stand below each other. */
const renderRow = (heads: readonly string[], cells: readonly string[]) =>
  `<tr>${cells.map((cell, column) => `<td data-head="${heads[column] ?? ''}">${cell}</td>`).join('')}</tr>`

const renderTable = (caption: string, heads: readonly string[], rows: readonly (readonly string[])[]) =>
  rows.length === 0
    ? ''
    : `<div class="wide" tabindex="0" role="group" aria-label="${escapeHtml(caption)}"><table><caption>${escapeHtml(caption)}</caption><thead><tr>${heads
        .map((head) => `<th scope="col">${head}</th>`)
        .join('')}</tr></thead><tbody>${rows.map((cells) => renderRow(heads, cells)).join('')}</tbody></table></div>`

const renderFields = (schema: Schema, caption: string): string => {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const required = Array.isArray(schema.required) ? schema.required : []
  const rows = properties.flatMap(([name, each]) => {
    const nested = each.type === 'object' ? Object.entries((each.properties ?? {}) as Record<string, Schema>) : []
    const about = [boundsText(each), typeof each.description === 'string' ? escapeHtml(each.description) : '']
    return [
      [code(name), renderType(each), required.includes(name) ? 'yes' : 'no', about.filter(Boolean).join('. ')],
      ...nested.map(([inner, value]) => [code(`${name}.${inner}`), renderType(value), '', boundsText(value)]),
    ]
  })
  return renderTable(caption, ['Field', 'Type', 'Required', 'About'], rows)
}

const renderBody = (content: Record<string, Media> | undefined, caption: string) => {
  const schema = content?.['application/json']?.schema
  if (!schema) return ''
  return schema.properties ? renderFields(schema, caption) : `<p>${escapeHtml(caption)}: ${renderType(schema)}</p>`
}

const renderResponse = (
  status: string,
  responseOrReference: Response | { $ref: string },
  { components }: ReferenceDocument,
) => {
  const response =
    '$ref' in responseOrReference ? components.responses[nameOf(responseOrReference.$ref)] : responseOrReference
  if (!response) return ''
  // The description of a refusal is the list of its codes.
  const refusalItems = codesIn(response.description).map(
    (name) => `<li>${code(name)} ${refusals[name].status}: ${escapeHtml(refusals[name].message)}</li>`,
  )
  const headers = Object.keys(response.headers ?? {}).filter((name) => !/^(Access-Control|RateLimit)-/.test(name))
  const about =
    refusalItems.length > 0 ? `<ul>${refusalItems.join('')}</ul>` : `<p>${escapeHtml(response.description)}</p>`
  return `<dt>${code(status)}</dt><dd>${about}${renderBody(response.content, 'Body')}${
    headers.length > 0 ? `<p class="about">Headers: ${headers.map(code).join(', ')}</p>` : ''
  }</dd>`
}

const renderOperation = ({ method, path, operation }: ListedOperation, document: ReferenceDocument) => {
  const { operationId, summary = '', description, parameters = [], requestBody, responses } = operation
  const rows = parameters.map((each) => [
    code(each.name),
    escapeHtml(each.in),
    renderType(each.schema),
    each.required ? 'yes' : 'no',
    escapeHtml(each.description ?? ''),
  ])
  const answers = Object.entries(responses).map(([status, response]) => renderResponse(status, response, document))
  return `<article id="${anchor(operationId)}">
<h3><a href="#${anchor(operationId)}"><span class="method ${method}">${method.toUpperCase()}</span> <span class="path">${escapeHtml(path)}</span></a></h3>
<p><strong>${escapeHtml(summary)}</strong></p>
${description ? renderProse(description) : ''}
${renderTable('Parameters', ['Name', 'In', 'Type', 'Required', 'About'], rows)}
${renderBody(requestBody?.content, 'JSON body')}
<h4>Answers</h4>
<dl>${answers.join('\n')}</dl>
</article>`
}

const renderSchema = ([name, schema]: [string, Schema]) =>
  `<article id="schema-${anchor(name)}"><h3>${escapeHtml(name)}</h3>${schema.properties ? renderFields(schema, name) : `<div class="values">${renderType(schema)}</div>`}</article>`

/** The whole API on one page: plain HTML, no script, nothing from elsewhere. */
export const renderReference = (document: ReferenceDocument, design: Design) => {
  const { info, tags, paths, components } = document
  const allOperations: ListedOperation[] = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
  )
  const groups = tags.map((tag) => ({
    ...tag,
    listed: allOperations.filter(({ operation }) => operation.tags?.[0] === tag.name),
  }))
  const contents = groups.map(
    ({ name, listed }) =>
      `<li><a href="#tag-${anchor(name)}">${escapeHtml(name)}</a><ul>${listed
        .map(
          ({ method, path, operation }) =>
            `<li><a href="#${anchor(operation.operationId)}">${method.toUpperCase()} ${escapeHtml(path)}</a></li>`,
        )
        .join('')}</ul></li>`,
  )
  const sections = groups.map(
    ({
      name,
      description,
      listed,
    }) => `<section aria-labelledby="tag-${anchor(name)}"><h2 id="tag-${anchor(name)}">${escapeHtml(name)}</h2>
<p>${escapeHtml(description)}</p>
${listed.map((each) => renderOperation(each, document)).join('\n')}</section>`,
  )
  return `<!doctype html>
<html lang="en">
${pageHead(`${info.title}: API reference`, designStyle(design) + referenceStyle)}
<body>
<a class="skip" href="#content">To the content</a>
<header><h1>${escapeHtml(info.title)}: API reference</h1><p>For programs: <a href="/api/openapi.json">openapi.json</a></p></header>
<nav aria-label="Contents"><details><summary>Contents</summary><ul>${contents.join('\n')}<li><a href="#schemas">schemas</a></li></ul></details></nav>
<main id="content">
<section aria-label="About">${renderProse(info.description ?? '')}</section>
${sections.join('\n')}
<section aria-labelledby="schemas"><h2 id="schemas">schemas</h2>${Object.entries(components.schemas).map(renderSchema).join('\n')}</section>
</main>
</body>
</html>
`
}
