import { configurationKinds, configurationSchema } from '../contract/configuration.js'

type Row = { about: string; options: readonly { name: string }[] }

const optionsText = ({ options }: Row) => options.map(({ name }) => `\`--${name}\``).join(', ')

/** The tables of docs/configuration-files.md. @public for scripts/docs */
export const propertyTables = () =>
  Object.entries(configurationKinds)
    .map(([kind, { about, properties }]) => {
      const rows = Object.entries<Row>(properties).map(
        ([name, property]) => `| \`${name}\` | ${property.about} | ${optionsText(property)} |`,
      )
      const table = rows.length === 0 ? [] : ['', '| key | meaning | option |', '|---|---|---|', ...rows]
      return [`**\`${kind}\`**: ${about}`, ...table].join('\n')
    })
    .join('\n\n')

/** docs/configuration.schema.json, for editors. The sentences of our own reader are not in it. */
export const publishedSchema = () =>
  JSON.parse(JSON.stringify(configurationSchema(), (key, value: unknown) => (key === 'must' ? undefined : value)))
