import { type Setting, settings } from './settings.js'

const rows = Object.entries(settings) as [string, Setting][]

const shownDefault = ({ fallback, otherwise }: Setting) =>
  fallback === undefined ? (otherwise ?? 'none') : `\`${fallback}\``

/** The text of `docs/configuration.md`. */
export const configurationGuide = () => `# Configuration

Settings are environment variables, or lines of a \`.env\` file in the working directory; the environment wins. They are
read once at the start. Each fault stops the start with a line of its own that names the setting and never its value.
Every setting \`X\` can also be given as \`X_FILE\`, the path of a file that holds the value: secrets need not stand in
the environment. Durations are written \`30s\`, \`15m\`, \`1h\`, \`365d\`; limits \`5/15m\`, a number of requests and a window.

| setting | default | meaning |
|---|---|---|
${rows.map(([name, setting]) => `| \`${name}\` | ${shownDefault(setting)} | ${setting.meaning}${setting.secret ? ' Secret.' : ''} |`).join('\n')}

This page is generated from \`src/config/settings.ts\` by \`npm run docs\`.
`

/** The text of \`.env.example\`: every setting, switched off. */
export const environmentExample =
  () => `# Copy this file to .env and switch on what you need. docs/configuration.md explains each setting.

${rows.map(([name, { fallback, meaning }]) => `# ${meaning.replaceAll('`', '')}\n#${name}=${fallback ?? ''}`).join('\n\n')}
`
