import { furtherFields } from './provider-settings.js'
import { envFilePrefix } from './secrets.js'

import type { Setting } from './setting-values.js'
import { settings } from './settings.js'

const rows = Object.entries(settings) as [string, Setting][]

const defaultText = ({ fallback, otherwise }: Setting) =>
  fallback === undefined || fallback === '' ? (otherwise ?? 'none') : `\`${fallback}\``

const row = (name: string, setting: Setting) =>
  `| \`${name}\` | ${defaultText(setting)} | ${setting.meaning}${setting.secret ? ' Secret.' : ''} |`

const commonNames = rows.flatMap(([name, { commonName }]) => (commonName ? [`\`${name}\``] : [])).join(', ')

/** The text of `docs/configuration.md`. */
export const configurationGuide = () => `# Configuration

Settings are environment variables, or lines of a \`.env\` file in the working directory with \`${envFilePrefix}\` before the name:
\`${envFilePrefix}PORT=3001\` is \`PORT\`. If both exist, the environment variable is used. Settings are read once at the start. If a value is
wrong, the service does not start. It prints one line for each wrong setting, with its name and never a secret. Every setting \`X\` can also be given as \`X_FILE\`, the path of a
file that holds the value, so that secrets need not be in the environment. Four settings can also be
changed while the service runs, unless a variable has them: [configuration files](configuration-files.md). Durations are written \`30s\`, \`15m\`, \`1h\`,
\`365d\`. Limits are written \`5/15m\`: a number of requests and a time window.

The \`.env\` may be that of your application. So a line without the prefix counts in production, and otherwise only if the name is
Latchkey's alone; these are names of other programs too: ${commonNames}. The start and \`latchkey doctor\` say what was taken from
the file and what was not.

| setting | default | meaning |
|---|---|---|
${rows.map(([name, setting]) => row(name, setting)).join('\n')}

## Further providers

\`PROVIDERS\` names any number of OpenID Connect providers besides A and B, up to 20. The name is in capitals in the settings, and in
small letters in the address: \`PROVIDERS=microsoft\` has the settings below with \`PROVIDER_MICROSOFT_\`, and signs in at
\`/api/auth/provider-microsoft\`. [Deployment](deployment.md#google-github-and-others) has an example.

| setting | default | meaning |
|---|---|---|
${Object.entries(furtherFields)
  .map(([field, setting]) => row(`PROVIDER_<NAME>_${field}`, setting))
  .join('\n')}

This page is generated from \`src/settings/settings.ts\` by \`npm run docs\`.
`

/** The text of \`.env.example\`: every setting, commented out. */
export const environmentExample =
  () => `# Copy this file to .env and uncomment the settings you need. docs/configuration.md explains each of them. The prefix
# ${envFilePrefix} is for this file only: environment variables have the names without it.

${rows.map(([name, { fallback, meaning }]) => `# ${meaning.replaceAll('`', '')}\n#${envFilePrefix}${name}=${fallback ?? ''}`).join('\n\n')}
`
