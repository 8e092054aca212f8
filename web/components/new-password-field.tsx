import { useContext, useState } from 'preact/hooks'
import { useWords } from '../hooks/settings.js'
import { Field } from './field.js'
import { FormContext } from './form.js'
import { StrengthMeter } from './strength-meter.js'

type Props = { name: string; label: string; focused?: boolean }

export const NewPasswordField = ({ name, label, focused = false }: Props) => {
  const [password, setPassword] = useState('')
  const { problems } = useContext(FormContext)
  const { outerSpace } = useWords('password')
  const isRefused = password !== '' && problems.fields?.[name] !== undefined
  return (
    <Field
      name={name}
      label={label}
      type="password"
      autoComplete="new-password"
      focused={focused}
      onInput={setPassword}
      below={
        <>
          <p class="field-hint" role="status">
            {password.trim() === password ? '' : outerSpace}
          </p>
          <StrengthMeter password={password} isRefused={isRefused} />
        </>
      }
    />
  )
}
