import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A field of each type; `staffnumber` is edited by administrators only. */
export const everyField = [
  {
    key: 'department',
    type: 'choice',
    labels: { en: 'Department', de: 'Abteilung', fr: 'Service' },
    options: [
      { value: 'sales', labels: { en: 'Sales', de: 'Vertrieb', fr: 'Ventes' } },
      { value: 'support', labels: { en: 'Support' } },
    ],
    registration: true,
    required: true,
  },
  { key: 'nickname', type: 'text', labels: { en: 'Nickname' }, minLength: 2, maxLength: 20, registration: true },
  { key: 'mobile', type: 'phone', labels: { en: 'Mobile phone' } },
  { key: 'website', type: 'url', labels: { en: 'Website' } },
  { key: 'birthday', type: 'date', labels: { en: 'Birthday' }, min: '1900-01-01', max: 'today' },
  { key: 'newsletter', type: 'boolean', labels: { en: 'Send me the newsletter' }, registration: true },
  { key: 'staffnumber', type: 'text', labels: { en: 'Staff number' }, editedBy: 'administrators' },
]

/** A file of profile fields that can be replaced. */
export const profileFieldsFile = async (fields: readonly object[] = everyField) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-fields-'))
  const path = join(folder, 'fields.json')
  const replace = (content: readonly object[]) => writeFile(path, JSON.stringify({ fields: content }))
  await replace(fields)
  return { path, replace, remove: () => rm(folder, { recursive: true }) }
}
