import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Static } from 'typebox'
import type { AdminAddedApplication, AdminNewApplication } from '#contract/admin/admin-bodies.js'
import { keepUnsaved, takeUnsaved } from '../browser/storage.js'
import { Button, CopyButton } from '../components/button.js'
import { Field, SelectField } from '../components/field.js'
import { Form, type Problems, type Values, valuesOf } from '../components/form.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'
import { chosenAccess, NewAccess } from './access.js'
import { ShownSecret } from './application-changes.js'
import { calls } from './calls.js'
import { useChangeProblems } from './change-dialog.js'
import { addressIn, LinesField, linesIn } from './lines-field.js'
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
  const optional = (key: 'home' | 'proxy') => {
    const address = addressIn(typed[key])
    return address ? { [key]: address } : {}
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

const placeOf = (step: number) => `application.${step}`

/**
 * The present step and what was typed in each of them. It is there again when the user goes back in the form, comes back to the screen, or
 * signs in again after the session has ended; then the first step comes first, because it has the name.
 */
const useSteps = (account: string) => {
  const [typed, setTyped] = useState<Values[]>(() => [1, 2, 3].map((at) => takeUnsaved(account, placeOf(at)) ?? {}))
  const [step, setStep] = useState(1)
  const section = useRef<HTMLElement>(null)
  const withPresent = () => {
    const form = section.current?.querySelector('form')
    return form ? typed.map((of, index) => (index === step - 1 ? valuesOf(form) : of)) : typed
  }
  const keep = useStableCallback(() => {
    // After the last step, the section is gone.
    if (section.current) for (const [index, of] of withPresent().entries()) keepUnsaved(account, placeOf(index + 1), of)
  })
  // A layout effect, because the clean-up of other effects comes when the form is already gone.
  useLayoutEffect(() => keep, [])
  const goTo = (next: number) => {
    setTyped(withPresent())
    setStep(next)
  }
  return { step, goTo, section, typed: { program: 'openid', ...Object.assign({}, ...typed) } as Values }
}

/** Adds an application in three steps: what it is, where it is, and who may use it. */
export const NewApplicationScreen = () => {
  const words = useWords('configuration')
  const { back } = useWords('admin')
  const { self, withFreshSignIn, leaveIfEnded } = useAdmin()
  const { step, goTo, section, typed } = useSteps(self.id)
  const [added, setAdded] = useState<AdminAddedApplication>()
  const problemsOf = useChangeProblems()
  const program = typed.program as Program
  const above = <a href={listFragment('applications')}>{back}</a>
  if (added) return <Added {...added} />
  const goOn = async () => {
    goTo(step + 1)
    return {}
  }
  const add = async (values: Values): Promise<Problems | undefined> => {
    const allow = chosenAccess(values)
    if (!allow) return { notice: words.chooseGroup }
    const body: Body = {
      name: typed.name?.trim() ?? '',
      allow,
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
      <section ref={section} class="panel narrow">
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
            <WhoMayUseNew typed={typed} />
          </Form>
        )}
        {step > 1 && (
          <Button look="quiet" onPress={() => goTo(step - 1)}>
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

const WhoMayUseNew = ({ typed }: { typed: Values }) => {
  const { fields } = useWords('configuration')
  return (
    <>
      <NewAccess legend={fields.allow} typed={typed} />
      <label class="check">
        <input type="checkbox" name="factors" defaultChecked={typed.factors === 'on'} />
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
