package toolbox

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// A ranking orders texts by how well they fit a query. The measure is BM25 with weights for words
// (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009).
type ranking struct {
	texts  []rankedText
	within map[string]int // number of texts with this word
	length float64        // total length of all texts
}

type rankedText struct {
	weights map[string]float64 // the weight of each word
	length  float64
}

// newRanking makes a ranking of n texts. text adds the words of text i, each with its weight.
func newRanking(n int, text func(i int, add func(text string, weight float64))) *ranking {
	r := &ranking{texts: make([]rankedText, n), within: map[string]int{}}
	for i := range r.texts {
		t := &r.texts[i]
		t.weights = map[string]float64{}
		text(i, func(text string, weight float64) {
			for _, word := range searchWords(text) {
				t.weights[word] += weight
				t.length += weight
			}
		})
		for word := range t.weights {
			r.within[word]++
		}
		r.length += t.length
	}
	return r
}

// best returns the numbers of the texts that fit the query, best first.
func (r *ranking) best(query string) (all []int) {
	const saturation, lengthShare = 1.2, 0.75 // k1 and b of the usual formula
	n := float64(len(r.texts))
	points := make([]float64, len(r.texts))
	for _, asked := range slices.Compact(slices.Sorted(slices.Values(searchWords(query)))) {
		for word, count := range r.within {
			share := 1.0
			if word != asked {
				if len(asked) < 3 || !strings.HasPrefix(word, asked) {
					continue
				}
				share = 0.5 // repo finds repository
			}
			rarity := math.Log(1 + (n-float64(count)+0.5)/(float64(count)+0.5))
			for i := range r.texts {
				t := &r.texts[i]
				if f := t.weights[word]; f > 0 {
					points[i] += share * rarity * f * (saturation + 1) / (f + saturation*(1-lengthShare+lengthShare*t.length*n/r.length))
				}
			}
		}
	}
	for i := range points {
		points[i] = math.Round(points[i]*1e6) / 1e6 // so that the order of additions does not matter
		if points[i] > 0 {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(points[b], points[a]) })
	return all
}

// noSubject are words that say nothing about the subject of a text.
const noSubject = " a an and are as at be by for from in is it of on or that the this to with "

// searchWords returns the words of a text in lower case. read_file, readFile and "Reads the files" all
// contain the word file. A final s is ignored.
func searchWords(text string) (all []string) {
	var word []rune
	end := func() {
		w := strings.ToLower(string(word))
		if strings.Contains(noSubject, " "+w+" ") {
			w = ""
		}
		if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
			w = w[:len(w)-1]
		}
		if word = word[:0]; w != "" {
			all = append(all, w)
		}
	}
	for _, c := range text {
		letter := unicode.IsLetter(c) || unicode.IsDigit(c)
		if !letter || unicode.IsUpper(c) && len(word) > 0 && unicode.IsLower(word[len(word)-1]) {
			end()
		}
		if letter {
			word = append(word, c)
		}
	}
	end()
	return all
}
