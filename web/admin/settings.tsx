import { useState } from 'preact/hooks'
import type { AdminSetting, AdminSettings } from '#contract/admin/admin-bodies.js'
import { Button } from '../components/button.js'
import { SelectField } from '../components/field.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithZone } from '../words/dates.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { ChangeDialog } from './change-dialog.js'
import { LinesField, linesIn } from './lines-field.js'
import { Loaded, Screen, useAdmin, useRead } from './screen.js'
import { type Fact, Facts } from './user-facts.js'

export const SettingsScreen = () => {
  const { settings: title } = useWords('admin')
  const words = useWords('configuration')
  const read = useRead(calls.settings)
  return (
    <Screen title={title} lead={`${words.settingsLead} ${words.settingsSoon}`}>
      <Loaded {...read}>
        {({ settings, variables }) => (
          <div class="stack">
            {subjects.map(({ subject, names }) => (
              <section key={subject} class="subject" aria-labelledby={`subject-${subject}`}>
                <h2 id={`subject-${subject}`}>{words.subjects[subject]}</h2>
                <div class="settings">
                  {settings
                    .filter(({ name }) => names.some((each) => each === name))
                    .map((setting) => (
                      <Setting key={setting.name} setting={setting} reload={read.reload} />
                    ))}
                </div>
              </section>
            ))}
            <Variables variables={variables} />
          </div>
        )}
      </Loaded>
    </Screen>
  )
}

/** In which subject each setting is shown. One that is added does not compile until it is here. */
const subjectOf: Record<AdminSetting['name'], 'accounts' | 'signIn'> = {
  registration: 'accounts',
  registrationDomains: 'accounts',
  mailSignIn: 'signIn',
  secondFactor: 'signIn',
}
const subjects = (['accounts', 'signIn'] as const).map((subject) => ({
  subject,
  names: Object.entries(subjectOf).flatMap(([name, each]) => (each === subject ? [name] : [])),
}))

/** What only variables set: it is shown, and not changed here. */
const Variables = ({ variables }: { variables: AdminSettings['variables'] }) => {
  const words = useWords('configuration')
  return (
    <Panel title={words.subjects.fixed} lead={words.fixedLead}>
      <Facts
        facts={variables.map(
          ({ name, value }): Fact => [
            words.variables[name],
            <>
              {value} <span class="muted">{value === null ? `${words.notSet} (${name})` : `(${name})`}</span>
            </>,
          ],
        )}
      />
    </Panel>
  )
}

export const useSettingText = () => {
  const { choices, allDomains } = useWords('configuration')
  return (value: string | readonly string[]) => {
    if (typeof value !== 'string') return value.length === 0 ? allDomains : value.join(', ')
    return Object.hasOwn(choices, value) ? choices[value as keyof typeof choices] : value
  }
}

const useWhoSet = () => {
  const { setBy: words, setByFile } = useWords('configuration')
  const { locale } = useSettings()
  return ({ setBy, variable }: AdminSetting) => {
    if (setBy === 'environment') return fill(words.environment, { variable })
    if (typeof setBy === 'string') return words.default
    if ('file' in setBy) return fill(setByFile, { file: setBy.file })
    return fill(words.page, { who: setBy.page, date: dateWithZone(setBy.at, locale) })
  }
}

/** Whether the page may change it: what the environment or a file sets is changed there. */
const isChangedHere = ({ setBy }: AdminSetting) => setBy === 'default' || (typeof setBy === 'object' && 'page' in setBy)

type Props = { setting: AdminSetting; reload: () => Promise<void> }

const Setting = ({ setting, reload }: Props) => {
  const words = useWords('configuration')
  const { mayManage } = useAdmin()
  const textOf = useSettingText()
  const whoSet = useWhoSet()
  const [open, setOpen] = useState<'change' | 'default'>()
  const { name, value, setBy, version } = setting
  const title = words.settings[name]
  const dialog = { onDone: reload, onClose: () => setOpen(undefined), userNotice: words.told, title }
  const mayChange = mayManage && isChangedHere(setting)
  return (
    <Panel title={title} level={3} state={{ text: textOf(value) }}>
      <p class="panel-lead">
        {setBy === 'default'
          ? whoSet(setting)
          : `${fill(words.byDefault, { value: textOf(setting.default) })} · ${whoSet(setting)}`}
      </p>
      {mayChange && (
        <div class="button-row">
          <Button label={`${words.change}: ${title}`} onPress={() => setOpen('change')}>{`${words.change}…`}</Button>
          {setBy !== 'default' && (
            <Button label={`${words.toDefault}: ${title}`} onPress={() => setOpen('default')}>
              {`${words.toDefault}…`}
            </Button>
          )}
        </div>
      )}
      {open === 'change' && (
        <ChangeDialog
          {...dialog}
          lead={words.settingsSoon}
          submitLabel={words.save}
          call={({ value: typed = '' }) =>
            calls.changeSetting(name, version, Array.isArray(value) ? linesIn(typed) : typed)
          }
          successMessage={() => fill(words.saved, { name: title })}
        >
          {Array.isArray(value) ? (
            <LinesField name="value" label={title} hint={words.domainsHint} defaultValue={value} />
          ) : (
            <SelectField
              name="value"
              label={title}
              choices={setting.choices.map((choice) => ({ value: choice, label: textOf(choice) }))}
              defaultValue={String(value)}
            />
          )}
        </ChangeDialog>
      )}
      {open === 'default' && (
        <ChangeDialog
          {...dialog}
          lead={fill(words.byDefault, { value: textOf(setting.default) })}
          submitLabel={words.toDefault}
          call={() => calls.resetSetting(name, version)}
          successMessage={() => fill(words.saved, { name: title })}
        />
      )}
    </Panel>
  )
}
