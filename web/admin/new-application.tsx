import { useState } from 'preact/hooks'
import type { Static } from 'typebox'
import type { AdminAddedApplication, AdminNewApplication } from '#contract/admin/admin-bodies.js'
import { Button, CopyButton } from '../components/button.js'
import { Field, SelectField } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { useWords } from '../hooks/settings.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'
import { NewAccess } from './access.js'
import { ShownSecret } from './application-changes.js'
import { calls } from './calls.js'
import { useChangeProblems } from './change-dialog.js'
import { chosenGroups } from './groups.js'
import { LinesField, linesIn } from './lines-field.js'
import { fragmentOf, listFragment } from './place.js'
import { Screen, useAdmin } from './screen.js'

type Body = Static<typeof AdminNewApplication>

/** Names that are the same in every language. */
const programNames = { grafana: 'Grafana', nextcloud: 'Nextcloud' } as const
type Program = keyof typeof programNames | keyof Words['configuration']['programs']

const known = ['grafana', 'gitea', 'nextcloud'] as const
const isKnown = (program: Program): program is (typeof known)[number] => known.some((each) => each === program)
const proxyPrograms = ['caddy', 'nginx', 'traefik', 'haproxy'] as const

/** What is asked in the second step, and what it becomes. */
const bodyOf = (program: Program, typed: Values): Partial<Body> => {
  const optional = <Key extends keyof Body>(key: Key) => {
    const text = typed[key]?.trim()
    return text ? { [key]: text } : {}
  }
  if (isKnown(program)) return { for: program, ...optional('home') }
  if (program === 'proxy') {
    const proxyProgram = proxyPrograms.find((each) => each === typed.proxyProgram)
    const open = linesIn(typed.open)
    return { ...optional('proxy'), ...(proxyProgram && { proxyProgram }), ...(open.length > 0 && { open }) }
  }
  const redirect = linesIn(typed.redirect)
  return {
    kind: program === 'openid' ? 'web' : program,
    ...(redirect.length > 0 && { redirect }),
    ...optional('home'),
    ...(program === 'native' && typed.device === 'on' && { device: true }),
  }
}

/** Adds an application in three steps: what it is, where it is, and who may use it. */
export const NewApplicationScreen = () => {
  const words = useWords('configuration')
  const { back } = useWords('admin')
  const [step, setStep] = useState(1)
  const [typed, setTyped] = useState<Values>({ program: 'openid' })
  const [added, setAdded] = useState<AdminAddedApplication>()
  const { withFreshSignIn, leaveIfEnded } = useAdmin()
  const problemsOf = useChangeProblems()
  const program = typed.program as Program
  const above = <a href={listFragment('applications')}>{back}</a>
  if (added) return <Added {...added} />
  const goOn = async (values: Values) => {
    setTyped((current) => ({ ...current, ...values }))
    setStep((current) => current + 1)
    return {}
  }
  const add = async (values: Values): Promise<Problems | undefined> => {
    const everyone = values.access !== 'groups'
    const body: Body = {
      name: typed.name?.trim() ?? '',
      allow: everyone ? 'everyone' : chosenGroups(values),
      ...bodyOf(program, typed),
      ...(values.factors === 'on' && { factors: 2 }),
    }
    const answer = await withFreshSignIn(() => calls.addApplication(body))
    if (answer.refused === 'fresh_sign_in_required') return {}
    if (answer.refused) return (await leaveIfEnded(answer)) ? undefined : problemsOf(answer)
    setAdded(answer.value)
    return undefined
  }
  const title = [words.steps.what, words.steps.where, words.steps.who][step - 1] ?? words.add
  return (
    <Screen key={step} title={title} lead={`${words.add} · ${fill(words.step, { at: `${step}` })}`} above={above}>
      <section class="panel narrow">
        {step === 1 && (
          <Form submitLabel={words.next} onSubmit={goOn}>
            <Field
              name="name"
              label={words.name}
              hint={words.nameHint}
              autoComplete="off"
              maxLength={60}
              defaultValue={typed.name ?? ''}
              focused
            />
            <SelectField
              name="program"
              label={words.program}
              choices={Object.entries({ ...words.programs, ...programNames }).map(([value, label]) => ({
                value,
                label,
              }))}
              defaultValue={program}
            />
          </Form>
        )}
        {step === 2 && (
          <Form submitLabel={words.next} onSubmit={goOn}>
            <Addresses program={program} typed={typed} />
          </Form>
        )}
        {step === 3 && (
          <Form submitLabel={words.create} onSubmit={add}>
            <WhoMayUseNew />
          </Form>
        )}
        {step > 1 && (
          <Button look="quiet" onPress={() => setStep(step - 1)}>
            {words.previous}
          </Button>
        )}
      </section>
    </Screen>
  )
}

const Addresses = ({ program, typed }: { program: Program; typed: Values }) => {
  const { fields, optional, ...words } = useWords('configuration')
  const address = (name: 'home' | 'proxy', hint: string, required: boolean) => (
    <Field
      name={name}
      label={required ? fields[name] : fill(optional, { label: fields[name] })}
      hint={hint}
      required={required}
      autoComplete="off"
      maxLength={2000}
      defaultValue={typed[name] ?? ''}
      focused={required}
    />
  )
  const lines = (name: 'redirect' | 'open', hint?: string) => (
    <LinesField
      name={name}
      label={fields[name]}
      defaultValue={linesIn(typed[name])}
      {...(hint !== undefined && { hint })}
    />
  )
  if (isKnown(program)) return address('home', words.homeHint, true)
  if (program === 'proxy')
    return (
      <>
        {address('proxy', words.proxyHint, true)}
        <SelectField
          name="proxyProgram"
          label={words.proxyProgram}
          choices={proxyPrograms.map((each) => ({ value: each, label: proxyNames[each] }))}
          defaultValue={typed.proxyProgram ?? 'caddy'}
        />
        {lines('open')}
      </>
    )
  return (
    <>
      {lines('redirect', words.redirectHint)}
      {address('home', words.homeHint, false)}
      {program === 'native' && (
        <label class="check">
          <input type="checkbox" name="device" defaultChecked={typed.device === 'on'} />
          {fields.device}
        </label>
      )}
    </>
  )
}

const proxyNames = { caddy: 'Caddy', nginx: 'nginx', traefik: 'Traefik', haproxy: 'HAProxy' } as const

const WhoMayUseNew = () => {
  const { fields } = useWords('configuration')
  return (
    <>
      <NewAccess legend={fields.allow} />
      <label class="check">
        <input type="checkbox" name="factors" />
        {fields.factors}
      </label>
    </>
  )
}

/** What is left to do: the secret and the lines to paste, and a button that opens it. */
const Added = ({ application: { id, name, home }, secret, paste }: AdminAddedApplication) => {
  const words = useWords('configuration')
  return (
    <Screen title={name} lead={fill(words.created, { name })}>
      <section class="panel">
        {secret !== null && <ShownSecret secret={secret} />}
        {paste.map((text) => (
          <div key={text} class="to-paste">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what is wider than the window is scrolled with the keys */}
            <pre lang="en" tabIndex={0}>
              {text}
            </pre>
            <CopyButton text={text} label={words.copy} copiedLabel={words.copied} />
          </div>
        ))}
        <div class="button-row">
          {home !== null && (
            <a class="button primary" href={home} target="_blank" rel="noreferrer">
              {fill(words.openIt, { name })}
            </a>
          )}
          <a class="button" href={fragmentOf('applications', id)}>
            {words.toApplication}
          </a>
        </div>
      </section>
    </Screen>
  )
}
